"""A program named python that leads to Python does something for each process: no image is made, and it is done."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from .baked import SOURCES
from .prepared import Prepared

SHOWN = "import json, os, sys\nprint(os.environ.get('SITE'), sys.prefix)"
LINES = {
    "nothing": ":",
    "a variable": "export SITE=here",
    "a variable of some ranks": '[ "$PMI_RANK" = 0 ] || export SITE=here',
    "one that is taken away": "unset SITE",
}


def is_refused(prepared: Prepared, first: Path) -> None:
    path = f"{first}:{Path(prepared.baked.python).parent}:{os.environ['PATH']}"
    script = prepared.baked.script(SHOWN)
    made = prepared.try_to_prepare(prepared.entry_point, script, PATH=path)
    assert made.status == 1 and f"{first}/python is a program in front of " in made.stderr, made
    plain = prepared.start(script, PATH=path, MPIIMPORT_SNAPSHOT="0", SITE="given")
    assert prepared.start_plainly(script, PATH=path, SITE="given").stdout == plain.stdout


@pytest.mark.parametrize("line", LINES)
def test_a_script_in_front_of_python(prepared: Prepared, line: str, tmp_path: Path) -> None:
    program = tmp_path / "first" / "python"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\n{LINES[line]}\nexec {prepared.baked.python} "$@"\n')
    program.chmod(0o755)
    is_refused(prepared, program.parent)


def test_a_compiled_program_in_front_of_python(prepared: Prepared, tmp_path: Path) -> None:
    """Python takes itself for that program, by whose name it was called."""
    program = tmp_path / "first" / "python"
    program.parent.mkdir()
    names = [f'-DOWN="{program}"', f'-DPYTHON="{prepared.baked.python}"']
    subprocess.run(["gcc", "-w", *names, "-o", program, SOURCES / "front.c"], check=True, timeout=60)
    is_refused(prepared, program.parent)


@pytest.mark.parametrize("place", ["in front", "behind"])
def test_one_that_changes_path(prepared: Prepared, place: str, tmp_path: Path) -> None:
    """Behind it another Python comes first, as behind pyenv's."""
    program = tmp_path / "first" / "python"
    program.parent.mkdir()
    directory = Path(prepared.baked.python).parent
    changed = f"{directory}:$PATH" if place == "in front" else f"$PATH:{directory}"
    program.write_text(f'#!/bin/sh\nexport PATH="{changed}"\nexec {prepared.baked.python} "$@"\n')
    program.chmod(0o755)
    path = f"{program.parent}:{os.environ['PATH']}"
    made = prepared.try_to_prepare(prepared.entry_point, prepared.baked.script(SHOWN), PATH=path)
    assert made.status == 1 and "a program in front of" in made.stderr, made


def test_a_link_is_none(prepared: Prepared, tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    python = shutil.which("python3", path="/usr/bin") or prepared.baked.python
    (tmp_path / "first" / "python").symlink_to(python)
    script = prepared.baked.script(SHOWN)
    path = f"{tmp_path}/first:{os.environ['PATH']}"
    prepared.prepare(script, PATH=path)
    plain = prepared.start(script, PATH=path, MPIIMPORT_SNAPSHOT="0")
    assert prepared.start_restored(script, PATH=path) == plain


def test_the_maker_of_a_snapshot_is_given_its_key(prepared: Prepared, tmp_path: Path) -> None:
    """Behind such a program PATH may be another one, and the key with it."""
    program = tmp_path / "first" / "python"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "$_MPIIMPORT_ASKED"\n')
    program.chmod(0o755)
    script = prepared.baked.script(SHOWN)
    variables = {"PATH": f"{program.parent}:{os.environ['PATH']}"}
    key, *_ = prepared.start("--image", "-", script, **variables).stdout.splitlines()
    asked = prepared.start(script, **variables, MPIIMPORT_FILL="snapshot")
    assert len(key) > 64 and asked.lines() == [key]
