"""The shim finds image and command behind every option that the real runtime has."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from lab.ranks import run
from tests.conftest import but_everyday
from tests.containers.cells import Site

ACTIONS = ("exec", "run", "shell", "test", "instance start", "instance run")
REPRESENTATIVE = {"shell", "instance run"}
# One option in `--help`, as pflag prints it: a letter, a name, and the kind of value if it takes one.
HELP = re.compile(r"^ +(?:-(\w), )?--([\w-]+)( \w+)?(?:  |$|\[)")
# One option in the runtime's own source, where hidden ones stand as well.
SOURCE = re.compile(r"cmdline\.Flag\{(.*?)\n\}", re.DOTALL)
FAKE = '#!/bin/sh\nprintf "%s\\n" "$@"\n'


@pytest.fixture(scope="session")
def shim(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shim before a runtime that prints its words."""
    prefix = tmp_path_factory.mktemp("prefix")
    fake = prefix / "apptainer"
    fake.write_text(FAKE)
    fake.chmod(0o755)
    for directory in ("bin", "etc", "shim"):
        (prefix / directory).mkdir()
    shutil.copy(site.prefix / "bin" / "mpiimport-shim", prefix / "bin")
    (prefix / "shim" / "apptainer").symlink_to("../bin/mpiimport-shim")
    (prefix / "etc" / "launch.yaml").write_text(f"runtimes: {{{fake}: {{flavour: apptainer}}}}\n")
    return prefix / "shim" / "apptainer"


def options(site: Site, action: str) -> list[list[str]]:
    """Every way to write each option of an action, with a value where it takes one."""
    shown = subprocess.run([site.runtime, *action.split(), "--help"], capture_output=True, text=True, check=True)
    found = [match.groups() for line in shown.stdout.splitlines() if (match := HELP.match(line))]
    assert len(found) > 50, shown.stdout
    return [
        words
        for letter, name, kind in found
        if name not in ("help", "mpiimport")
        for words in spellings(f"--{name}", bool(kind)) + (spellings(f"-{letter}", bool(kind)) if letter else [])
    ]


def spellings(option: str, takes_value: bool) -> list[list[str]]:
    return [[option, "value"], [f"{option}=value"]] if takes_value else [[option], [f"{option}=true"]]


def hidden(site: Site) -> list[list[str]]:
    source = Path(f"{site.runtime.parent.parent}.build") / "source" / "cmd" / "internal" / "cli"
    if not source.exists():
        return []
    text = "".join((source / name).read_text() for name in ("action_flags.go", "instance_actions_linux.go"))
    flags = [block for block in SOURCE.findall(text) if "Hidden:" in block]
    assert flags
    return [
        words
        for block in flags
        for name in re.findall(r'Name: +"([\w-]+)"', block)
        for words in spellings(f"--{name}", not re.search(r"DefaultValue: +(true|false)", block))
    ]


# Between them the representative ones have every option.
@pytest.mark.parametrize("action", but_everyday(ACTIONS, REPRESENTATIVE))
def test_the_image_is_found_behind_every_option(site: Site, shim: Path, action: str) -> None:
    name = ["name"] if action.startswith("instance") else []
    bind = ["--bind", f"{shim.parent.parent}:/.mpiimport:ro"]
    # These make a start unfit for acceleration; our option is taken out anyway.
    unfit = ("--writable", "-w", "--boot", "--dmtcp")
    environment = {"HOME": "/none", "PMI_RANK": "1", "MPI_LOCALNRANKS": "1"}
    for words in [*options(site, action), *hidden(site)]:
        done = run([str(shim), *action.split(), *words, "--mpiimport", "img", *name, "python", "-B"], environment)
        plain = words[0].startswith(unfit) and not words[0].startswith("--writable-tmpfs")
        expected = [
            *action.split(),
            *([] if plain else bind),
            *words,
            "img",
            *name,
            "python",
            "-B",
        ]
        assert done.stdout.splitlines() == expected, words
        assert done.stderr == ""
