"""What is not in an image is found as plainly, whatever the program has done to the import system before."""

import os

import pytest

from tests.texts import parameters, read

from .baked import PROGRAMS, Baked

pytestmark = pytest.mark.usefixtures("installed")

# A module of the image, so that its directory has a finder in it, and one that is left to the program.
BEGIN = """
import importlib.machinery
import os
import signal
import sys
import early
HERE = os.path.dirname(early.__file__)
"""
HOOK = """
class Loader(importlib.machinery.SourceFileLoader):
    def exec_module(self, module):
        super().exec_module(module)
        module.value = "by the hook"
def hook(path):
    if path != HERE:
        raise ImportError(path)
    return importlib.machinery.FileFinder(path, (Loader, [".py"]))
"""
BEHIND = read(PROGRAMS / "imports_behind.txt")


@pytest.mark.parametrize("name", parameters(BEHIND))
def test_imports_are_found_as_plainly(baked: Baked, name: str) -> None:
    program = BEHIND[name]
    script = baked.script(f"{BEGIN}{HOOK if 'hook' in program.traits else ''}{program}")

    def lay_out() -> None:
        (baked.modules / "written.py").unlink(missing_ok=True)
        for module, value in (("early", 1), ("late", "late")):
            # Else bytecode may have the time of what the program writes.
            os.utime(baked.module(module, f"value = {value!r}\n"), (1, 1))

    lay_out()
    plain = baked.plain(script)
    assert plain.status == 0, plain
    lay_out()
    baked.bake(script)
    assert baked.start_restored(script) == plain
