"""A program named python that leads to Python: what it changes is there in each start, or no image is made."""

import os
from pathlib import Path

import pytest

from .conftest import Warm
from .session import Session

SHOWN = (
    "import json, os, resource, sys\n"
    "print(os.environ.get('SITE'), sys.orig_argv[1:], os.getcwd(), os.umask(0))\n"
    "print(resource.getrlimit(resource.RLIMIT_CORE))"
)
CHANGES = {
    "a variable": ("export SITE=here", "SITE"),
    "one that is taken away": ("unset HOME", "HOME"),
    "a limit": ("ulimit -s unlimited", "limits"),
    "the processors": ("taskset -p 1 $$ >/dev/null", "processors"),
    "the umask": ("umask 027", "the umask"),
    "the current directory": ("cd /", "the current directory"),
}


@pytest.fixture
def session(warm: Warm, prefix: Path, tmp_path: Path) -> Session:
    return Session(prefix, warm, tmp_path)


def in_front(session: Session, directory: Path, line: str, options: str = "") -> str:
    """Return a PATH on which python is a shell script with this line."""
    directory.mkdir()
    program = directory / "python"
    program.write_text(f'#!/bin/sh\n{line}\nexec {session.warm.python} {options} "$@"\n')
    program.chmod(0o755)
    return f"{directory}:{Path(session.warm.python).parent}:{os.environ['PATH']}"


def test_one_that_changes_nothing_is_passed_over(session: Session, tmp_path: Path) -> None:
    path, script = in_front(session, tmp_path / "first", ": nothing"), session.warm.script(SHOWN)
    session.begin(script, PATH=path)
    plain = session.start(script, PATH=path, MPIIMPORT_WARM="0", MPIIMPORT_KEEP="never")
    assert session.start_warm(script, PATH=path) == plain


@pytest.mark.parametrize("change", CHANGES)
def test_one_that_changes_what_a_process_has_has_no_image(session: Session, change: str, tmp_path: Path) -> None:
    line, named = CHANGES[change]
    path, script = in_front(session, tmp_path / "first", line), session.warm.script(SHOWN)
    begun = session.try_to_begin(script, PATH=path)
    assert begun.status == 1
    assert f"{tmp_path}/first/python leads to Python and changes {named}, which" in begun.stderr
    plain = session.start(script, PATH=path, MPIIMPORT_WARM="0", MPIIMPORT_KEEP="never")
    assert session.start_fresh("none is kept", script, PATH=path).stdout == plain.stdout


def test_one_that_gives_python_options_has_no_image(session: Session, tmp_path: Path) -> None:
    path = in_front(session, tmp_path / "first", ": nothing", "-X dev")
    begun = session.try_to_begin(session.warm.script(SHOWN), PATH=path)
    assert begun.status == 1 and "leads to Python and changes options, which" in begun.stderr
