"""What an image holds is not looked at by collections, and what acts at its end still does."""

import signal
from pathlib import Path

import pytest

import mpiimport

from .baked import Baked, compiled, reach, shared_library

# Only the garbage collector ends it, when the interpreter ends.
CYCLE = """
class Ends:
    def __del__(self):
        print("ended", flush=True)
one = Ends()
one.own = one
"""


def test_what_acts_at_its_end_acts_in_each_process(baked: Baked) -> None:
    (baked.modules / "mpiimport").symlink_to(Path(mpiimport.__file__).parent)
    script = baked.script(f"from mpiimport import snapshot\n{CYCLE}\nsnapshot.here()\nprint('on', flush=True)")
    baked.bake(script)
    assert baked.start_restored(script).stdout == baked.plain(script).stdout == "on\nended\n"


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


def test_what_a_program_leaves_in_an_object_of_the_image_ends_as_plainly(baked: Baked, tmp_path: Path) -> None:
    script = baked.script(LEFT)
    baked.bake(script)
    log, seen = tmp_path / "work" / "log", []
    for run in (baked.plain, baked.start_restored):
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
def test_what_a_program_leaves_open_is_written_however_it_ends(baked: Baked, tmp_path: Path, ending: str) -> None:
    script = baked.script(OPEN + ENDINGS[ending])
    baked.bake(script)
    log, seen = tmp_path / "work" / "log", []
    for run in (baked.plain, baked.start_restored):
        log.unlink(missing_ok=True)
        seen.append((run(script), log.read_text()))
    assert seen[0] == seen[1]
    assert (seen[1][0].stdout, seen[1][1]) == ("ended, named\n", "text")


# No class of Python acts here at its end: a capsule calls a function of C, and this one shows.
CAPSULE = """
import ctypes, os
def here(): pass
class Holds: pass
holds = Holds()
holds.own = holds
here()
new = ctypes.pythonapi.PyCapsule_New
new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
holds.capsule = new(1, None, ctypes.cast(ctypes.CDLL(None).abort, ctypes.c_void_p))
"""


def test_variables_that_an_image_holds_end_as_plainly(baked: Baked) -> None:
    script = baked.script(CAPSULE)
    baked.bake(script)
    assert baked.start_restored(script).status == baked.plain(script).status == -signal.SIGABRT


@pytest.mark.parametrize("module", ["email.message", "numpy"])
def test_collections_pass_over_what_is_in_the_image(baked: Baked, module: str) -> None:
    script = baked.script(
        f"import {module}\nimport gc\nprint(gc.get_freeze_count() > 1000, len(gc.get_objects()) < 5000)"
    )
    baked.bake(script)
    assert baked.start_restored(script).stdout == "True True\n"


def counting(baked: Baked, name: str, *words: str) -> None:
    """Make ``plant``, whose metaclass is of a module of this name, and ``held``, of which a class has an object.

    ``words``: more for the compiler.
    """
    compiled("counts.c", baked, f'-DMETA="{name}.meta"', *words)
    baked.module("held", HELD)


HELD = """
import plant
class Counted(plant.Base, metaclass=plant.meta):
    __slots__ = ()
class Holds:
    one = Counted()
"""
PASSED_OVER = "print(gc.get_freeze_count() > 1000, len(gc.get_objects()) < 5000)"


@pytest.mark.parametrize("name, are_passed_over", {"nanobind": True, "another": False}.items())
def test_what_tells_at_the_end_what_has_not_ended_tells_it_as_plainly(
    baked: Baked, name: str, are_passed_over: bool
) -> None:
    counting(baked, name)
    script = baked.script(f"import held\nimport gc\n{PASSED_OVER}")
    assert "it prints" in reach(baked.bake(script))
    started = baked.start_restored(script)
    assert started.stderr == baked.plain(script).stderr == ""
    assert started.stdout == f"{are_passed_over} {are_passed_over}\n"
    script = baked.script("import held\nimport gc, json.decoder\njson.decoder.JSONDecoder.another = held.Counted()")
    baked.bake(script)
    assert baked.start_restored(script) == baked.plain(script)
    assert baked.plain(script).stderr == ""


@pytest.mark.full
def test_collections_pass_over_triton(baked_with_torch: Baked) -> None:
    """It is written in nanobind, and a method has objects of its classes among its defaults."""
    script = baked_with_torch.script(f"import torch, triton\nimport gc\n{PASSED_OVER}")
    assert "it prints" in reach(baked_with_torch.bake(script))
    started = baked_with_torch.start_restored(script)
    assert (started.status, started.stdout, started.stderr) == (0, "True True\n", "")
    assert baked_with_torch.plain(script).stderr == ""


def test_where_a_forked_process_cannot_end_there_is_no_image(baked: Baked, tmp_path: Path) -> None:
    library = shared_library("openblas.c", tmp_path)
    counting(baked, "another", "-Wl,--no-as-needed", str(library), f"-Wl,-rpath,{tmp_path}")
    script = baked.script("import held")
    assert baked.plain(script).status == 0
    outcome = baked.try_to_bake(script)
    assert outcome.status and f"ended by signal {signal.SIGABRT:d} at its end" in outcome.stderr, outcome
