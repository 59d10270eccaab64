"""What is not in an image is found as plainly, whatever the program has done to the import system before."""

import os

import pytest

from tests.conftest import but_everyday

from .conftest import Baked

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
PROGRAMS = {
    "a module written before caches are invalidated": """
with open(HERE + "/written.py", "w") as stream:
    stream.write("value = 'written'")
importlib.invalidate_caches()
import written, late
print(written.value, late.value)
""",
    "a directory whose cache alone is invalidated": """
with open(HERE + "/written.py", "w") as stream:
    stream.write("value = 'written'")
sys.path_importer_cache[HERE].invalidate_caches()
import written
print(written.value)
""",
    "a path hook for other directories than those in use": f"""{HOOK}
sys.path_hooks.insert(0, hook)
import late
print(late.value)
""",
    "a finder put into the cache": f"""{HOOK}
sys.path_importer_cache[HERE] = hook(HERE)
import colorsys, late
print(late.value)
""",
    "a directory that was forgotten": f"""{HOOK}
sys.path_hooks.insert(0, hook)
del sys.path_importer_cache[HERE]
import colorsys, late
print(late.value)
""",
    "importlib's hook taken away": """
del sys.path_hooks[:]
import late, colorsys
print(late.value)
""",
    "a class of finders whose method is another": """
ordinary = importlib.machinery.FileFinder.find_spec
def find_spec(self, name, target=None):
    if self.path == HERE:
        print("asked for", name)
    return ordinary(self, name, target)
importlib.machinery.FileFinder.find_spec = find_spec
import late
print(late.value)
""",
    "a module of the image that is imported again": """
with open(early.__file__, "w") as stream:
    stream.write("value = 77")
importlib.reload(early)
import late
print(early.value, late.value)
""",
    "a module of the image that is imported again later": """
import late
with open(early.__file__, "w") as stream:
    stream.write("value = 77")
del sys.modules["early"]
import early
print(early.value, late.value)
""",
    "an audit hook": """
seen = []
sys.addaudithook(lambda event, arguments: seen.append(arguments[0]) if event == "import" else None)
import late
print(late.value, seen)
""",
    "a signal handler": """
seen = set()
def handle(number, frame):
    while frame is not None:
        seen.add(os.path.basename(frame.f_code.co_filename))
        frame = frame.f_back
signal.signal(signal.SIGALRM, handle)
signal.setitimer(signal.ITIMER_REAL, 0.0001, 0.0001)
import late
signal.setitimer(signal.ITIMER_REAL, 0)
print(late.value, any("kept" in name for name in seen))
""",
    "the next free descriptor": """
with open(os.devnull) as stream:
    first = stream.fileno()
import late
with open(os.devnull) as stream:
    print(late.value, stream.fileno() == first)
""",
}

EVERYDAY = (
    "a module written before caches are invalidated",
    "a path hook for other directories than those in use",
    "a module of the image that is imported again",
    "a signal handler",
    "the next free descriptor",
)


@pytest.mark.parametrize("name", but_everyday(PROGRAMS, EVERYDAY))
def test_imports_are_found_as_plainly(baked: Baked, name: str) -> None:
    script = baked.script(BEGIN + PROGRAMS[name])

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
