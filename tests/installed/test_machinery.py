"""The runtime keeps the functions of `os` and `time` that it uses, in every Python."""

import subprocess
from pathlib import Path

from lab.ranks import clean_environment
from tests.conftest import ROOT

# Nothing in these modules is then as it was. `os` and `os.path` are Python that calls what it finds by name.
REPLACED = """
import os, sys, time
expected = [os.path.realpath("/proc/self/../self"), os.path.abspath("a/../b"), os.path.relpath("/a", "/b"),
            os.path.expanduser("~"), os.path.isfile(sys.executable), os.fsencode("x"), os.get_exec_path(),
            list(os.walk(sys.argv[1])), os.path.lexists(""), os.path.samefile("/", "/.")]
from mpiimport import runtime
def refuse(*arguments, **named):
    raise AssertionError(arguments)
for module in os, os.path, time:
    for name, value in list(vars(module).items()):
        if type(value) in (type(refuse), type(len)):
            setattr(module, name, refuse)
os = runtime.os
found = [os.path.realpath("/proc/self/../self"), os.path.abspath("a/../b"), os.path.relpath("/a", "/b"),
         os.path.expanduser("~"), os.path.isfile(sys.executable), os.fsencode("x"), os.get_exec_path(),
         list(os.walk(sys.argv[1])), os.path.lexists(""), os.path.samefile("/", "/.")]
assert found == expected, (found, expected)
os.makedirs(sys.argv[1] + "/made/there", 0o700, exist_ok=True)
assert os.path.isdir(sys.argv[1] + "/made/there") and runtime.time.monotonic() > 0
"""


def test_the_runtimes_own_os_uses_nothing_that_is_replaced_later(python: Path, tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    environment = clean_environment(PYTHONPATH=str(ROOT), PYTHONDONTWRITEBYTECODE="1")
    subprocess.run([python, "-c", REPLACED, tmp_path], check=True, env=environment)
