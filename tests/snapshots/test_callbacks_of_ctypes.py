"""Callbacks of ctypes are made by libffi, which keeps a file open for them where it can; an image holds none."""

from pathlib import Path

import pytest

from tests.conftest import SERVED, but_everyday, interpreter

from .baked import Baked, reach

# More than one page of callbacks has.
SCRIPT = """
import ctypes
import os
import sys

KIND = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
callbacks = [KIND(lambda n, i=i: n + i) for i in range(3000)]
print(sum(callback(1) for callback in callbacks))
links = [f"/proc/self/fd/{number}" for number in range(3, 20)]
print([link for link in links if "files" in sys.argv and os.path.islink(link) and "ffi" in os.readlink(link)])
"""


@pytest.mark.parametrize("version", but_everyday(SERVED, ("3.10", "3.14", "3.15")))
def test_an_image_holds_ctypes(version: str, prefix: Path, tmp_path: Path) -> None:
    baked = Baked(prefix, tmp_path, str(interpreter(version)))
    script = baked.script(SCRIPT)
    # libffi of some versions asks for the machine when it makes the first callback.
    assert reach(baked.bake(script)).startswith(("it ends before line 7", "it ends before line 8"))
    assert baked.start_restored(script) == baked.plain(script)
    assert baked.start_restored(script, "files").stdout.endswith("\n[]\n")
