"""The early start, run as ``python -S .../mpiimport/start.py program``. Must parse on any Python."""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401

# What bundle.py made the rank path of. It is written here where that is done, so that a stale one is not taken.
FILES_DIGEST = ""
# The container entry's word for a -S that is the program's own.
WITHOUT_SITE = "early-nosite"


class _RankPath:
    """Finds and loads the modules of the rank path in the one file that ``bundle.py`` wrote of them.

    Once loaded they are ordinary ones, which do not refer to this.
    """

    def __init__(self, package):  # type: (str) -> None
        import marshal

        self._package = package
        self._modules = {}  # type: dict[str, Any]
        try:
            from _frozen_importlib_external import MAGIC_NUMBER

            with open(os.path.join(package, "rank_path." + sys.implementation.cache_tag), "rb") as stream:
                content = stream.read()
        # Old Pythons lack these names, too.
        except (AttributeError, ImportError, OSError):
            return
        stamp = MAGIC_NUMBER + FILES_DIGEST.encode()
        if FILES_DIGEST and content.startswith(stamp):
            self._modules = marshal.loads(memoryview(content)[len(stamp) :])

    def has_modules(self):  # type: () -> bool
        return bool(self._modules)

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
        import marshal
        from _frozen_importlib_external import SourceFileLoader

        name = module.__name__
        module.__loader__ = module.__spec__.loader = SourceFileLoader(name, module.__file__)
        exec(marshal.loads(self._modules[name][1]), module.__dict__)


def _main():  # type: () -> Any
    # The script's directory, which -I and -P leave out, is the program's to put there.
    if not (getattr(sys.flags, "isolated", False) or getattr(sys.flags, "safe_path", False)):
        del sys.path[0]
    package = os.path.dirname(os.path.abspath(__file__))
    sys.path.insert(0, os.path.dirname(package))
    try:
        rank_path = _RankPath(package)
        if rank_path.has_modules():
            sys.meta_path.insert(0, rank_path)
        from mpiimport.served_pythons import say_plain, why_not

        reason = why_not()
        if not reason:
            from mpiimport.runtime.startup.early import EarlyStart

            if rank_path.has_modules():
                sys.meta_path.remove(rank_path)
            start = EarlyStart(rank_path.code())
    except Exception as exc:
        if sys.stderr is not None:
            sys.stderr.write("mpiimport: running as plain Python: mpiimport does not load (%r)" % exc)
            sys.stderr.write("; is its installation complete?\n")
            sys.stderr.flush()
        _become_plain()
    if reason:
        say_plain(reason)
        _become_plain()
    interpreter, ours = _without_our_flag(sys.orig_argv)
    return start.activate(interpreter, ours)


def _become_plain():  # type: () -> None
    """Become the same interpreter without the ``-S`` and without us."""
    with open("/proc/self/cmdline", "rb") as stream:
        words = [word.decode("latin-1") for word in stream.read().split(b"\0")[:-1]]
    interpreter, _ = _without_our_flag(words)
    os.execv(sys.executable, [word.encode("latin-1") for word in interpreter + words[len(words) - len(sys.argv) + 1 :]])


def _without_our_flag(words):  # type: (list[str]) -> tuple[list[str], bool]
    """Return the part of a command line that ends before this script, less the ``-S`` that is ours.

    That is the last one, which may be one letter of several. Tell also whether it is the only one, so that the program
    is to have ``site``.
    """
    # sys.argv is this script and what follows it.
    words = words[: len(words) - len(sys.argv)]
    found = []
    value_follows = False
    for place, word in enumerate(words):
        if place == 0 or value_follows:
            value_follows = False
        elif word.startswith("--"):
            value_follows = word == "--check-hash-based-pycs"
        else:
            for position, letter in enumerate(word):
                if letter == "S":
                    found.append((place, position))
                if letter in "WX":
                    value_follows = position + 1 == len(word)
                    break
    asked = os.environ.pop("_MPIIMPORT_START", "") != WITHOUT_SITE
    if found and (asked or len(found) > 1):
        place, position = found[-1]
        rest = words[place][:position] + words[place][position + 1 :]
        words[place : place + 1] = [] if rest == "-" else [rest]
    return words, asked and len(found) == 1


with _main() as execution:
    execution.begin()()
