"""The program on a command line is found as Python finds it on its own."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from lab.ranks import clean_environment
from mpiimport.runtime.program import COMMAND, INPUT, MODULE, SCRIPT, NoProgram, Program
from tests.conftest import ROOT

# Says what Python made of the command line, and what `of_interpreter` makes of it.
PROBE = f"""
import json, sys
first = sys.path[0]
sys.path.insert(0, {str(ROOT)!r})
from mpiimport.runtime.program import Program
program = Program.of_interpreter()
print(json.dumps({{
    "argv": sys.argv, "first": first, "kind": program.kind, "target": program.target, "arguments": program.arguments,
    "search_entry": program.search_entry(),
}}))
"""
OPTIONS: list[list[str]] = [
    [],
    ["-u"],
    ["-W", "default"],
    ["-Wd"],
    ["-W", "-c"],
    ["-X", "dev"],
    ["-Xutf8"],
    ["-uXutf8"],
    ["-uX", "utf8"],
    ["-bbWerror::BytesWarning"],
    ["-BsEW", "ignore", "-OO"],
    ["-S"],
    ["-q", "-R", "-d"],
    ["--check-hash-based-pycs", "always", "-u"],
]
ISOLATED = [["-I"], ["-IuBb", "-Wm"], *([["-P"], ["-uP"]] if sys.version_info >= (3, 11) else [])]
PROGRAMS = {"script": ["probe.py"], "module": ["-m", "probe"], "code": ["-c", PROBE], "standard input": ["-"]}
COMBINATIONS = [
    *((program, options) for program in ("script", "code") for options in OPTIONS + ISOLATED),
    *((program, options) for program in ("module", "standard input") for options in OPTIONS[:4]),
]
# With the last option's letters in one word.
JOINED = {
    "module": ["-mprobe"],
    "code": [f"-c{PROBE}"],
    "option and module": ["-um", "probe"],
    "options and module": ["-Bumprobe"],
    "option and code": ["-uc", PROBE],
    "options and code": [f"-bbIc{PROBE}"],
    "end of options": ["--", "probe.py"],
}
PLACES = {
    "script": ["probe.py"],
    "script elsewhere": ["below/script.py"],
    "script by a winding path": ["./below/../probe.py"],
    "link to a script": ["link.py"],
    "module": ["-m", "probe"],
    "package": ["-m", "package"],
    "code": ["-c", PROBE],
    "standard input": ["-"],
    "directory": ["package"],
    "current directory": ["."],
    "directory by a winding path": ["./below/../package/"],
    "link to a directory": ["linked"],
    "archive": ["archive.zip"],
    "link to an archive": ["linked.zip"],
}
CONTAINERS = {name for name in PLACES if "directory" in name or "archive" in name}
ARGUMENTS = ["-m", "an argument", "-c", "-", "--", ""]


def label(value: object) -> str:
    return " ".join(value) if isinstance(value, list) else str(value)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("programs")
    for name in ("probe.py", "below/script.py", "package/__main__.py", "__main__.py"):
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_text(PROBE)
    (path / "link.py").symlink_to("below/script.py")
    (path / "linked").symlink_to("package")
    with zipfile.ZipFile(path / "archive.zip", "w") as archive:
        archive.writestr("__main__.py", PROBE)
    (path / "linked.zip").symlink_to("archive.zip")
    return path


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["app.py"], (SCRIPT, "app.py", [])),
        (["app.py", "-m", "x"], (SCRIPT, "app.py", ["-m", "x"])),
        (["/opt/with space", "-"], (SCRIPT, "/opt/with space", ["-"])),
        (["-m", "package.module", "-c"], (MODULE, "package.module", ["-c"])),
        (["-mmodule", "a"], (MODULE, "module", ["a"])),
        (["-c", "print(1)", "a", "b"], (COMMAND, "print(1)", ["a", "b"])),
        (["-cprint(1)", "-m"], (COMMAND, "print(1)", ["-m"])),
        (["-c", ""], (COMMAND, "", [])),
        (["-", "-", "a"], (INPUT, "-", ["-", "a"])),
    ],
)
def test_a_program_and_its_arguments_are_told_apart(words: list[str], expected: tuple[str, str, list[str]]) -> None:
    before = list(words)
    program = Program.parse(words)
    assert (program.kind, program.target, program.arguments) == expected
    assert words == before


@pytest.mark.parametrize(
    ("words", "said"), [([], "nothing to run"), (["-m"], "-m needs a value"), (["-c"], "-c needs a value")]
)
def test_a_command_line_without_a_program_is_refused(words: list[str], said: str) -> None:
    with pytest.raises(NoProgram, match=said):
        Program.parse(words)


def report(words: list[str], directory: Path) -> dict[str, Any]:
    """What the probe reports of ``python words...``; the probe is on standard input as well."""
    done = subprocess.run(
        [sys.executable, *words],
        input=PROBE,
        capture_output=True,
        text=True,
        cwd=directory,
        env=clean_environment(),
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(("program", "options"), COMBINATIONS, ids=label)
def test_the_program_is_found_behind_options_of_python(directory: Path, program: str, options: list[str]) -> None:
    words = PROGRAMS[program]
    found = report([*options, *words, *ARGUMENTS], directory)
    kind = {"script": SCRIPT, "module": MODULE, "code": COMMAND, "standard input": INPUT}[program]
    assert (found["kind"], found["target"], found["arguments"]) == (kind, words[-1], found["argv"][1:])
    assert found["argv"][1:] == ARGUMENTS


@pytest.mark.parametrize("name", JOINED)
def test_the_program_is_found_where_words_are_joined(directory: Path, name: str) -> None:
    found = report([*JOINED[name], *ARGUMENTS], directory)
    kind = MODULE if "module" in name else COMMAND if "code" in name else SCRIPT
    target = {MODULE: "probe", COMMAND: PROBE, SCRIPT: "probe.py"}[kind]
    assert (found["kind"], found["target"], found["arguments"]) == (kind, target, ARGUMENTS)
    assert found["argv"][1:] == ARGUMENTS


@pytest.mark.parametrize(
    "text",
    [
        "  print(1)",
        "  print(1)\n  print(2)",
        "\n   if 1:\n     print(1)\n\n   print(2)\n ",
        "\t print(1)\n\t print(2)",
        "  print(1)\n\tprint(2)",
        " print(1)\n  print(2)",
        "print(1)\n  \nprint('''\n   text\n  ''')",
        "  print('''\n   text\n      \n  ''')",
        "\n\n",
        "",
        "  \n\t",
    ],
)
def test_the_margin_of_code_is_what_it_is_for_python(text: str) -> None:
    here = "import sys; from mpiimport.runtime.program import Program; Program.parse(['-c', sys.argv[1]]).prepare()()"
    environment = clean_environment(PYTHONPATH=str(ROOT))
    plain, ours = (
        subprocess.run([sys.executable, "-c", *words], capture_output=True, text=True, env=environment)
        for words in ([text], [here, text])
    )
    assert (ours.returncode, ours.stdout) == (plain.returncode, plain.stdout)
    assert ours.stderr.splitlines()[-1:] == plain.stderr.splitlines()[-1:]


@pytest.mark.parametrize("options", [[], ["-u"], ["-W", "ignore"], ["-X", "utf8"]], ids=label)
def test_an_interpreter_without_a_program_is_said_to_have_none(directory: Path, options: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, *options],
        input=PROBE,
        capture_output=True,
        text=True,
        cwd=directory,
        env=clean_environment(),
    )
    assert "NoProgram: an interactive interpreter" in done.stderr


@pytest.mark.parametrize("place", PLACES)
def test_the_search_path_begins_where_python_begins_it(directory: Path, place: str) -> None:
    found = report(PLACES[place], directory)
    assert found["search_entry"] == found["first"]


@pytest.mark.parametrize("place", [place for place in PLACES if PLACES[place][0] != "-m"])
def test_the_search_path_of_an_isolated_python_begins_where_python_begins_it(directory: Path, place: str) -> None:
    found = report(["-I", *PLACES[place]], directory)
    assert found["search_entry"] == (found["first"] if place in CONTAINERS else None)
