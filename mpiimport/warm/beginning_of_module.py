"""A module that runs as a program, ``python -m NAME``, in a process that starts from an image."""

import sys
from _frozen_importlib_external import PathFinder

from mpiimport.runtime.program import MODULE, Program, working_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class ModuleBegin:
    """``name``: as ``-m`` has it; ``directory``: the current one, in which the module must lie, or nothing of one of
    the tree; ``parts``: of files that run, the module's name, path, text with which it begins, and whether that is all.
    """

    def __init__(self, name: str, directory: str, parts: "list[tuple[str, str, bytes, bool]]") -> None:
        self.name = name
        self._directory = directory
        self._parts = parts

    def doubt(self, program: Program) -> str:
        """Return why this is not the program of which the image is, or nothing."""
        if program.kind != MODULE or program.target != self.name:
            return f"it was made of another program, -m {self.name}"
        if self._directory and working_directory() != self._directory:
            return f"{self.name} is found in the current directory, which was {self._directory}"
        path: Any = [self._directory]
        for name, file, text, is_whole in self._parts:
            if self._directory:
                spec = PathFinder.find_spec(name, path)
                if spec is None or spec.origin != file:
                    return f"{name} is found elsewhere"
                path = spec.submodule_search_locations or []
            try:
                with open(file, "rb") as stream:
                    now = stream.read()
            except OSError:
                return f"{file} cannot be read"
            if now != text if is_whole else not now.startswith(text):
                return f"{file} begins with other imports"
        return ""

    def prepare(self, program: Program) -> "Callable[[], object]":
        """Return what runs the module in ``__main__``."""
        sys.argv[:] = program.words()
        return program.prepare()
