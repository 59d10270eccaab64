"""A program named python that leads to Python does something for each process: no image is made, and it is done."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from .conftest import Warm
from .session import Session

SHOWN = "import json, os, sys\nprint(os.environ.get('SITE'), sys.prefix)"
COMPILED = """
#include <stdlib.h>
#include <unistd.h>
int main(int count, char **words) {
    setenv("SITE", "here", 1);
    words[0] = "%s";
    return execv("%s", words);
}
"""
LINES = {
    "nothing": ":",
    "a variable": "export SITE=here",
    "a variable of some ranks": '[ "$PMI_RANK" = 0 ] || export SITE=here',
    "one that is taken away": "unset SITE",
}


@pytest.fixture
def session(warm: Warm, prefix: Path, tmp_path: Path) -> Session:
    return Session(prefix, warm, tmp_path)


def begin_and_start(session: Session, first: Path) -> None:
    path = f"{first}:{Path(session.warm.python).parent}:{os.environ['PATH']}"
    script = session.warm.script(SHOWN)
    begun = session.try_to_begin(script, PATH=path)
    assert begun.status == 1
    assert f"{first}/python is a program in front of " in begun.stderr
    plain = session.start(script, PATH=path, MPIIMPORT_WARM="0", MPIIMPORT_KEEP="never", SITE="given")
    assert session.start_fresh("none is kept", script, PATH=path, SITE="given").stdout == plain.stdout


@pytest.mark.parametrize("line", LINES)
def test_a_script_in_front_of_python(session: Session, line: str, tmp_path: Path) -> None:
    program = tmp_path / "first" / "python"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\n{LINES[line]}\nexec {session.warm.python} "$@"\n')
    program.chmod(0o755)
    begin_and_start(session, program.parent)


def test_a_compiled_program_in_front_of_python(session: Session, tmp_path: Path) -> None:
    """Python takes itself for that program, by whose name it was called."""
    program = tmp_path / "first" / "python"
    program.parent.mkdir()
    source = tmp_path / "front.c"
    source.write_text(COMPILED % (program, session.warm.python))
    subprocess.run(["gcc", "-w", "-o", program, source], check=True, timeout=60)
    begin_and_start(session, program.parent)


@pytest.mark.parametrize("place", ["in front", "behind"])
def test_one_that_changes_path(session: Session, place: str, tmp_path: Path) -> None:
    """Behind it another Python comes first, as behind pyenv's."""
    program = tmp_path / "first" / "python"
    program.parent.mkdir()
    directory = Path(session.warm.python).parent
    changed = f"{directory}:$PATH" if place == "in front" else f"$PATH:{directory}"
    program.write_text(f'#!/bin/sh\nexport PATH="{changed}"\nexec {session.warm.python} "$@"\n')
    program.chmod(0o755)
    begun = session.try_to_begin(session.warm.script(SHOWN), PATH=f"{program.parent}:{os.environ['PATH']}")
    assert begun.status == 1 and "a program in front of" in begun.stderr


def test_a_link_is_none(session: Session, tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    python = shutil.which("python3", path="/usr/bin") or session.warm.python
    (tmp_path / "first" / "python").symlink_to(python)
    script = session.warm.script(SHOWN)
    path = f"{tmp_path}/first:{os.environ['PATH']}"
    session.begin(script, PATH=path)
    plain = session.start(script, PATH=path, MPIIMPORT_WARM="0", MPIIMPORT_KEEP="never")
    assert session.start_warm(script, PATH=path) == plain


@pytest.mark.parametrize("words", ["MPIIMPORT_FILL=1", "MPIIMPORT_KEEP=auto"])
def test_whoever_makes_the_image_is_told_the_key(session: Session, words: str, tmp_path: Path) -> None:
    """Behind such a program PATH may be another one, and the key of the image with it."""
    program = tmp_path / "first" / "python"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "$_MPIIMPORT_ASKED"\n')
    program.chmod(0o755)
    script = session.warm.script(SHOWN)
    name, _, value = words.partition("=")
    variables = {"PATH": f"{program.parent}:{os.environ['PATH']}", "MPIIMPORT_KEEP": "session", name: value}
    key, *_ = session.start("--image", "-", script, **variables).stdout.splitlines()
    assert key.startswith("warm-")
    assert session.start(script, **variables).lines() == [key]
