"""The early start, run as ``python -S .../mpiimport/start.py program``. Must parse on any Python."""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401


class _RankPath:
    """Finds and loads the modules of the rank path in the one file that ``bundle.py`` wrote of them."""

    def __init__(self, package):  # type: (str) -> None
        import marshal
        from _frozen_importlib_external import MAGIC_NUMBER

        self._package = package
        self._modules = {}  # type: dict[str, Any]
        try:
            with open(os.path.join(package, "rank_path." + sys.implementation.cache_tag), "rb") as stream:
                content = stream.read()
        except OSError:
            return
        if content.startswith(MAGIC_NUMBER):
            self._modules = marshal.loads(memoryview(content)[len(MAGIC_NUMBER) :])

    def code(self):  # type: () -> dict[str, Any]
        """Return the marshalled code of the modules by their files."""
        return {os.path.join(self._package, file): code for file, code in self._modules.values()}

    def find_spec(self, name, path=None, target=None):  # type: (str, Any, Any) -> Any
        from _frozen_importlib import ModuleSpec

        if name not in self._modules:
            return None
        file = os.path.join(self._package, self._modules[name][0])
        loader = self  # type: Any
        spec = ModuleSpec(name, loader, origin=file)
        spec.has_location = True
        if os.path.basename(file) == "__init__.py":
            spec.submodule_search_locations = [os.path.dirname(file)]
        return spec

    def create_module(self, spec):  # type: (Any) -> None
        """Leave that to Python."""

    def exec_module(self, module):  # type: (Any) -> None
        import _imp
        import marshal

        code = marshal.loads(self._modules[module.__name__][1])
        internal = _imp  # type: Any
        internal._fix_co_filename(code, module.__file__)
        exec(code, module.__dict__)


def _main():  # type: () -> Any
    script = __file__
    if sys.version_info < (3, 10):
        _run_plainly(script, "only CPython 3.10 and newer is served")
    # The script's directory, which -I and -P leave out, is the program's to put there.
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        del sys.path[0]
    package = os.path.dirname(os.path.abspath(script))
    sys.path.insert(0, os.path.dirname(package))
    try:
        rank_path = _RankPath(package)
        sys.meta_path.insert(0, rank_path)
        from mpiimport.runtime.early import EarlyStart

        start = EarlyStart(rank_path.code())
    except Exception as exc:
        _run_plainly(script, "mpiimport does not load (%r); is its installation complete?" % exc)
    sys.meta_path.remove(rank_path)
    return start.activate(script)


def _run_plainly(script, reason):  # type: (str, str) -> None
    """Become the same interpreter without the ``-S`` and without us."""
    sys.stderr.write("mpiimport: running as plain Python: %s\n" % reason)
    sys.stderr.flush()
    with open("/proc/self/cmdline", "rb") as stream:
        words = stream.read().split(b"\0")[:-1]
    position = [os.path.abspath(os.fsdecode(word)) for word in words].index(os.path.abspath(script), 1)
    os.execv(sys.executable, words[: position - 1] + words[position + 1 :])


# Beginning empties this namespace.
with _main() as execution:
    execution.begin()()
