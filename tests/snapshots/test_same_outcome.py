"""A program that starts from an image does what it does plainly: output, status, files."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import SERVED, but_everyday, interpreter
from tests.texts import parameters, read

from .baked import IMPORTS, PROGRAMS, Baked, interpreters

LIBRARY = (
    "import subprocess, asyncio, traceback, unittest, multiprocessing, concurrent.futures, dataclasses\n"
    "import logging.handlers, sqlite3, email, http.client, xml.etree.ElementTree\nimport pdb\n"
)
# Behind IMPORTS.
OUTCOMES = read(PROGRAMS / "same_outcome.txt")


# One that is no PIE.
DEBIANS = "/usr/bin/python3"
NUMPY = (
    "import numpy as np, scipy.interpolate as si\n"
    "x = np.linspace(0, 1, 50); y = si.CubicSpline(x, np.sin(x))(0.3)\n"
    "a = np.arange(90000.0).reshape(300, 300) + np.eye(300)\n"
    "print(y, np.linalg.det(a[:5, :5]), (a @ a).sum(), np.random.default_rng(3).random())\n"
    "print(np.random.RandomState(1).rand())"
)


def same(baked: Baked, script: str, *words: str) -> None:
    work = Path(script).parent.parent / "work"
    plain = baked.plain(script, *words, GIVEN="this")
    files = {path.name: path.read_text() for path in work.iterdir()}
    for path in work.iterdir():
        path.unlink()
    started = baked.start_restored(script, *words, GIVEN="this")
    assert started == plain
    assert {path.name: path.read_text() for path in work.iterdir()} == files


@pytest.mark.parametrize("name", parameters(OUTCOMES))
def test_programs_of_the_standard_library(baked: Baked, name: str) -> None:
    baked.bake(baked.script(IMPORTS))
    program = str(OUTCOMES[name])
    if name == "bad syntax":
        script = baked.script(program)
        assert baked.start(script).status == baked.plain(script).status == 1
        assert baked.start(script).stderr.endswith(baked.plain(script).stderr)
    else:
        same(baked, baked.script(IMPORTS + program), "one", "two")


@pytest.mark.parametrize("python", but_everyday(interpreters(), {DEBIANS}.intersection(interpreters())))
def test_every_python_of_this_machine(baked_with: Callable[[str], Baked], python: str) -> None:
    baked = baked_with(python)
    baked.bake(baked.script(IMPORTS))
    for name in ("output", "exception", "thread", "fork", "flags", "main", "interrupted"):
        same(baked, baked.script(f"{IMPORTS}{OUTCOMES[name]}"))


@pytest.mark.parametrize("version", but_everyday(SERVED, ("3.15",)))
def test_the_standard_library_is_in_images(version: str, prefix: Path, tmp_path: Path) -> None:
    baked = Baked(prefix, tmp_path, str(interpreter(version)))
    said = baked.bake(baked.script(LIBRARY))
    # Some versions have readline for pdb.
    assert "holds all statements" in said or "before line 3, `import pdb`: readline asks for the time" in said, said
    same(baked, baked.script(LIBRARY + "print(asyncio.run(asyncio.sleep(0, 7)), sqlite3.sqlite_version)"))


@pytest.mark.parametrize("version", but_everyday(SERVED, ("3.14",)))
def test_annotations_before_the_cut_and_behind_it(version: str, prefix: Path, tmp_path: Path) -> None:
    baked = Baked(prefix, tmp_path, str(interpreter(version)))
    begin = "import json, sys\nfirst: int = 1\nprint(first)\n"
    script = baked.script(begin + "second: str = ''\nprint(sys.modules['__main__'].__annotations__)")
    baked.bake(script)
    same(baked, script)


@pytest.mark.parametrize(
    "options", but_everyday(["-u", "-I", "-E -s", "-OO -X utf8", "-W error", "-B -bb"], {"-I", "-OO -X utf8"})
)
def test_options_of_the_interpreter(baked: Baked, options: str) -> None:
    baked.options = tuple(options.split())
    baked.bake(baked.script(IMPORTS))
    for name in ("output", "exception", "streams", "flags", "main", "modules"):
        same(baked, baked.script(f"{IMPORTS}{OUTCOMES[name]}"))


def test_numpy_and_scipy(baked: Baked) -> None:
    assert "ends before line 4, `print(y, " in baked.bake(baked.script(NUMPY))
    same(baked, baked.script(NUMPY))


def test_numpy_has_threads_where_it_has_them_plainly(baked: Baked) -> None:
    """OpenBLAS makes them when they are first used, as in any process that was forked."""
    script = baked.script(NUMPY + "\nimport os; print(len(os.listdir('/proc/self/task')))")
    baked.bake(script)
    plain, started = (
        int(outcome.stdout.split()[-1]) for outcome in (baked.plain(script), baked.start_restored(script))
    )
    assert min(plain, 2) <= started <= plain


def test_the_break_goes_on_where_the_image_left_it(baked: Baked) -> None:
    """Otherwise malloc ends the process, or loses the heap: "break adjusted to free malloc space"."""
    baked.bake(baked.script("import json"))
    heap = "[line for line in open('/proc/self/maps') if '[heap]' in line]"
    size = "sum(int(line.split('-')[1].split()[0], 16) - int(line.split('-')[0], 16) for line in HEAP)"
    text = (
        f"import json\nsize = lambda: {size.replace('HEAP', heap)}\nbefore = size()\n"
        "kept = [bytes(900) for _ in range(200000)]\nprint(size() - before > 100_000_000, before > 0)\n"
        "del kept\nkept = [bytes(900) for _ in range(300000)]\nprint(len(kept))\n"
    )
    started = baked.start_restored(baked.script(text))
    assert (started.status, started.stdout) == (0, "True True\n300000\n")


def test_modules_are_as_plainly(baked: Baked) -> None:
    """One that a module only looks for is not imported; that of multiprocessing's other name is the program."""
    baked.module("other", "")
    baked.module("asks", "import importlib.util\nfound = importlib.util.find_spec('other')")
    looks = "'other' in sys.modules, asks.found is not None, sys.modules['__mp_main__'] is sys.modules['__main__']"
    script = baked.script(f"import asks, multiprocessing, sys\nprint({looks}, sorted(sys.modules))")
    baked.bake(script)
    same(baked, script)
    assert baked.plain(script).stdout.startswith("False True True")


def test_what_others_see_of_the_process(baked: Baked) -> None:
    text = "import json\nprint(open('/proc/self/cmdline').read().split(chr(0)), open('/proc/self/comm').read())"
    script = baked.script(text)
    baked.bake(script)
    same(baked, script, "one")
    assert os.path.basename(baked.python) in baked.start_restored(script).stdout  # noqa: PTH119
