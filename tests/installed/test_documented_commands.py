"""Every command line of mpiimport in the documentation is understood."""

import importlib.util
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from lab.ranks import clean_environment, run
from mpiimport.host.cli import OF_THE_BINARY, understand
from tests.conftest import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted(ROOT.glob("*/README.md"))]
# A line that goes on in the next is one.
TEXT = "\n".join(page.read_text() for page in PAGES).replace("\\\n", "")
# Placeholders of a synopsis, and what a shell does with a line.
UNREADABLE = ("[", "|", "...")
LINES = sorted(
    line.partition(" || ")[0]
    for line in set(re.findall(r"^ {4,8}(?:/\S+/)?(mpiimport .*)", TEXT, re.MULTILINE))
    if not any(sign in line.partition(" || ")[0] for sign in UNREADABLE)
)
# In running text: the subcommand, and its own.
MENTIONED = sorted(set(re.findall(r"[`(]mpiimport ((?:profile |plugin |manifest )?[a-z-]+)\b", TEXT)))
PROGRAMS = sorted(set(re.findall(r"^ {4}\S*python -m ((?:benchmarks|lab|tests)\b.*)", TEXT, re.MULTILINE)))
BINARIES = sorted(set(re.findall(r"\b(mpiimport-(?:plan|hook) [a-z].*?)(?=  |[`)#]|$)", TEXT, re.MULTILINE)))


def test_commands_are_documented() -> None:
    assert {shlex.split(line)[1] for line in LINES} >= {"bake", "doctor", "profile", "manifest", "plugin", "report"}
    assert {line.split()[0] for line in MENTIONED} >= {"exec", "run", "profile", "shim-path"}
    assert {line.split()[0] for line in BINARIES} == {"mpiimport-plan", "mpiimport-hook"}


@pytest.mark.parametrize("line", LINES)
def test_a_documented_command_is_understood(line: str) -> None:
    words = shlex.split(line, comments=True)[1:]
    if ">" in words:
        words = words[: words.index(">")]
    if words[0] in OF_THE_BINARY:
        own = words[1 : words.index("--")] if "--" in words else words[1:2]
        assert {word for word in own if word.startswith("-")} <= {"--profile", "--session"}
        return
    understand(words)


@pytest.mark.parametrize("words", MENTIONED)
def test_a_mentioned_subcommand_exists(words: str) -> None:
    with pytest.raises(SystemExit) as end:
        understand([*words.split(), "--help"])
    assert end.value.code == 0


@pytest.mark.parametrize("line", BINARIES)
def test_the_options_of_the_binaries_exist(prefix: Path, line: str) -> None:
    program, action, *rest = line.split()
    usage = run([str(prefix / "bin" / program), "--help"], clean_environment())
    assert usage.status == 0
    own = re.findall(rf"{program} {action}\b(?:.*\n)(?: {{20}}.*\n)?", usage.stdout)
    assert own
    assert set(re.findall(r"--[a-z]+", " ".join(rest))) <= set(re.findall(r"--[a-z]+", " ".join(own)))


@pytest.mark.parametrize("target", sorted(set(re.findall(r"(?:`|^ {4})make ([a-z0-9-]+)", TEXT, re.MULTILINE))))
def test_a_documented_target_of_make_exists(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize("line", PROGRAMS)
def test_the_options_of_a_documented_program_exist(line: str) -> None:
    program, *words = shlex.split(line)
    named = {word for word in words if word.startswith("--")}
    if not named:
        assert importlib.util.find_spec(program)
        return
    subcommand = words[:1] if words[0].isalpha() else []
    usage = run([sys.executable, "-m", program, *subcommand, "--help"], clean_environment(), 60, ROOT)
    assert usage.status == 0, usage.stderr
    assert named <= set(re.findall(r"--[a-z-]+", usage.stdout))


def test_a_profile_is_installed_as_documented(tmp_path: Path) -> None:
    lines = set(re.findall(r"^ {4}(install .*\.yaml .*)", TEXT, re.MULTILINE))
    assert lines
    own = tmp_path / ".config" / "mpiimport" / "profiles"
    own.mkdir(parents=True)
    for number, line in enumerate(lines):
        for place in (own, tmp_path):
            (place / "site.yaml").touch()
        command = ["sh", "-c", line.replace(" /etc", f" {number}")]
        subprocess.run(command, cwd=tmp_path, env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}, check=True)
        assert (tmp_path / str(number) / "mpiimport" / "profiles.d" / "site.yaml").is_file()
