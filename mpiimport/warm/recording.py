"""Runs a program once: ``python [options] recording.py PACKAGES LOG PACKAGE SCRIPT...``.

Several scripts are executed one after another in one ``__main__``, whose relative imports are of PACKAGE if that is not
empty. LOG gets a line for each module that is looked for: ``+NAME``, or ``-NAME`` where something has changed before
what imports may depend on: then another process cannot import it earlier. Where a module that is being imported looks
for it, this is ``~NAME``: what such a one changes for a while, it changes in every process. At the end LOG gets
``=NAME`` for each that is there, for some are only looked for (importlib.util.find_spec), and ``!COUNT``: of so many
imports all would bind the same again. SCRIPT.statements has the imports for marshal: see leading.py.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any


class Recorder:
    """A finder that finds nothing, and writes down what it was asked for."""

    def __init__(self, log: int) -> None:
        self._log = log
        self._before: Any = self._surroundings()

    def begin(self) -> None:
        """From here on changes are the program's."""
        self._before = self._surroundings()

    def _surroundings(self) -> "Any":
        import os

        try:
            place = os.getcwd()
        except OSError:
            place = ""
        return dict(os.environ._data), list(sys.path), place, list(sys.path_hooks)  # type: ignore[attr-defined]

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Note a module; see importlib.abc.MetaPathFinder."""
        import os

        sign = "+" if self._before == self._surroundings() else "~" if _is_within_import(sys._getframe(1)) else "-"
        os.write(self._log, f"{sign}{name}\n".encode())

    def end(self, again: int) -> None:
        """Note the modules that are there now. ``again``: how many imports bind the same."""
        import os

        there = [name for name, module in list(sys.modules.items()) if module is not None]
        os.write(self._log, "".join([*(f"={name}\n" for name in there), f"!{again}\n"]).encode())


def _is_within_import(frame: "FrameType | None") -> bool:
    """Tell whether some module is being executed."""
    while frame is not None:
        if frame.f_code.co_name == "_load_unlocked" and frame.f_globals.get("__name__") == "_frozen_importlib":
            return True
        frame = frame.f_back
    return False


def record() -> "tuple[Recorder, Any, list[tuple[str, Any]]]":
    """Return what records, what executes imports, and files with these, once all is prepared."""
    import marshal
    import os

    packages, log, package, *scripts = sys.argv[1:]
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        del sys.path[0]
    sys.path.insert(0, packages)
    from mpiimport.runtime.program import Program
    from mpiimport.warm.beginning import new_main
    from mpiimport.warm.bindings import Bindings

    sys.path.remove(packages)
    recorder = Recorder(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC))
    sys.meta_path.insert(0, recorder)
    sys.argv[:] = scripts[:1]
    sys.modules["__main__"] = new_main()
    run: Any = Program.parse(scripts[:1]).prepare()
    _, namespace = run.args
    statements = []
    for script in scripts:
        with open(f"{script}.statements", "rb") as stream:
            statements.append((script, marshal.load(stream)))
    if package:
        namespace.update(__package__=package, __spec__=type(sys.__spec__)(f"{package}.__main__", None))
    recorder.begin()
    return recorder, Bindings(namespace), statements


if __name__ == "__main__":
    recording, bindings, files = record()
    for file, imports in files:
        bindings.execute(imports, file)
    recording.end(bindings.again)
