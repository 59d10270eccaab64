"""A subcommand needs what it uses, and nothing that another one does."""

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from mpiimport.host.cli import OF_THE_BINARY, OWN
from tests.conftest import ROOT

# What Pythons lack that were built where a library was missing.
OPTIONAL = ("_bz2", "_ctypes", "_curses", "_dbm", "_gdbm", "_lzma", "_sqlite3", "_ssl", "_tkinter", "_uuid", "readline")
PROGRAM = """
import sys
sys.modules.update(dict.fromkeys({lacks!r}))
from mpiimport.host.cli import main
try:
    status = main(sys.argv[1:])
except SystemExit as exc:
    status = exc.code
print(*sys.modules, file=sys.stderr)
sys.exit(status)
"""


def call(*words: str, lacks: tuple[str, ...] = OPTIONAL) -> "subprocess.CompletedProcess[str]":
    line = [sys.executable, "-c", PROGRAM.format(lacks=lacks), *words]
    return subprocess.run(line, cwd=ROOT, capture_output=True, text=True)


@pytest.mark.parametrize("words", [[], *([name] for name in OWN)])
def test_help_is_shown_by_a_python_that_lacks_modules(words: list[str]) -> None:
    done = call(*words, "--help")
    assert done.returncode == 0 and done.stdout.startswith("usage: mpiimport"), done.stderr


def test_the_help_names_all_and_imports_none_of_them() -> None:
    done = call("--help")
    assert {*OF_THE_BINARY, *OWN} <= {*done.stdout.split()}
    assert "mpiimport.host.commands." not in done.stderr


def test_what_a_python_lacks_is_named_where_it_is_needed(tmp_path: Path) -> None:
    database = tmp_path / "monitoring.db"
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE try (task_try_time_running, task_try_time_returned)")
    done = call("workflow", "throughput", str(database), lacks=("_sqlite3",))
    assert done.returncode == 1 and "was built without it" in done.stderr.splitlines()[0], done.stderr
    assert "Traceback" not in done.stderr
