"""What an image holds is not looked at by collections, and what acts at its end still does."""

import signal
from pathlib import Path

import pytest

import mpiimport

from .conftest import Warm

# Only the garbage collector ends it, when the interpreter ends.
CYCLE = """
class Ends:
    def __del__(self):
        print("ended", flush=True)
one = Ends()
one.own = one
"""


def test_what_acts_at_its_end_acts_in_each_process(warm: Warm, tmp_path: Path) -> None:
    (warm.modules / "mpiimport").symlink_to(Path(mpiimport.__file__).parent)
    script = warm.script(f"from mpiimport import warm\n{CYCLE}\nwarm.at_image()\nprint('on', flush=True)")
    warm.bake(script)
    assert warm.start_warm(script).stdout == warm.plain(script).stdout == "on\nended\n"


def test_a_module_whose_objects_act_at_their_end_is_as_plainly(warm: Warm) -> None:
    warm.module("plant", CYCLE)
    script = warm.script("import plant\nprint('on', flush=True)")
    warm.bake(script)
    assert warm.start_warm(script).stdout == warm.plain(script).stdout == "on\nended\n"


# What a program leaves to its end, in an object of the image: a class is a cycle, and so is what refers to it.
LEFT = """
import json.decoder, os
opened = json.JSONDecoder.log = open("log", "w")
opened.write("text")
class Ends:
    out = os.write
    def __del__(self):
        self.out(1, f"ended, {NAME}\\n".encode())
json.decoder.ends = Ends()
NAME = "named"
def generate():
    try:
        yield
    finally:
        os.write(1, b"closed\\n")
json.JSONDecoder.generator = generate()
next(json.JSONDecoder.generator)
"""


def test_what_a_program_leaves_in_an_object_of_the_image_ends_as_plainly(warm: Warm, tmp_path: Path) -> None:
    script = warm.script(LEFT)
    warm.bake(script)
    log, seen = tmp_path / "work" / "log", []
    for run in (warm.plain, warm.start_warm):
        log.unlink(missing_ok=True)
        outcome = run(script)
        seen.append((outcome.status, outcome.stderr, sorted(outcome.stdout.splitlines()), log.read_text()))
    assert seen[0] == seen[1] == (0, "", ["closed", "ended, named"], "text")


ENDINGS = {
    "its last line": "pass",
    "sys.exit": "sys.exit(3)",
    "an exception that nothing catches": "raise ValueError",
    "an exception that is kept": "try: raise ValueError\nexcept ValueError as exc: kept = exc\nsys.exit('text')",
}
# A function makes a cycle of the program's variables.
OPEN = """
import importlib.machinery, json, os, sys
def function(*arguments):
    return loads(*arguments)
class Ends:
    out = os.write
    def __del__(self):
        self.out(1, f"ended, {NAME}\\n".encode())
NAME, ends = "named", Ends()
opened = open("log", "w")
opened.write("text")
# Modules of the maker's own have such loaders.
loads = importlib.machinery.SourceFileLoader.exec_module
importlib.machinery.SourceFileLoader.exec_module = function
"""


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_a_program_leaves_open_is_written_however_it_ends(warm: Warm, tmp_path: Path, ending: str) -> None:
    script = warm.script(OPEN + ENDINGS[ending])
    warm.bake(script)
    log, seen = tmp_path / "work" / "log", []
    for run in (warm.plain, warm.start_warm):
        log.unlink(missing_ok=True)
        seen.append((run(script), log.read_text()))
    assert seen[0] == seen[1]
    assert (seen[1][0].stdout, seen[1][1]) == ("ended, named\n", "text")


# No class of Python acts here at its end: a capsule calls a function of C, and this one shows.
CAPSULE = """
import ctypes, os
def at_image(): pass
class Holds: pass
holds = Holds()
holds.own = holds
at_image()
new = ctypes.pythonapi.PyCapsule_New
new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
holds.capsule = new(1, None, ctypes.cast(ctypes.CDLL(None).abort, ctypes.c_void_p))
"""


def test_variables_that_an_image_holds_end_as_plainly(warm: Warm) -> None:
    script = warm.script(CAPSULE)
    warm.bake(script)
    assert warm.start_warm(script).status == warm.plain(script).status == -signal.SIGABRT


@pytest.mark.parametrize("module", ["email.message", "numpy"])
def test_collections_pass_over_what_is_in_the_image(warm: Warm, module: str) -> None:
    script = warm.script(
        f"import {module}\nimport gc\nprint(gc.get_freeze_count() > 1000, len(gc.get_objects()) < 5000)"
    )
    warm.bake(script)
    assert warm.start_warm(script).stdout == "True True\n"
