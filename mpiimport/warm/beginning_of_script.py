"""The begin of a script that an image holds with what it has done: all statements up to ``at_image()``."""

import sys

from mpiimport.runtime import os
from mpiimport.runtime.program import Program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any

ONLY_AST = 0x400
# Code flags: what a script has from __future__.
FUTURES = 0x1FE0000


class ScriptBegin:
    """``path``: of the script, absolute; ``text``: up to the end of the last statement; ``statements``: how many."""

    def __init__(self, path: str, text: bytes, statements: int) -> None:
        self.path = path
        self.text = text
        self.statements = statements
        self._flags = 0
        self._namespace: dict[str, Any] = {}

    def prepare(self) -> "CodeType":
        """Make ``__main__`` and the search path what they are for the script; return the code of its begin."""
        program = Program.parse([self.path])
        program.prepare()
        self._namespace = sys.modules["__main__"].__dict__
        code = compile(self.text, self.path, "exec", dont_inherit=True)
        self._flags = code.co_flags & FUTURES
        return code

    def run(self, code: "CodeType") -> str:
        """Run the begin; return why it did not come to its end, or nothing."""
        try:
            exec(code, self._namespace)
        except BaseException as exc:
            return f"{type(exc).__name__}: {exc}".rstrip(": ")
        return ""

    def rest(self, text: bytes) -> "list[Any]":
        """Return the code of what follows in the whole text, and the namespace of the begin, kept no longer."""
        tree: Any = compile(text, self.path, "exec", ONLY_AST, dont_inherit=True)
        # In the place of the begin stands one statement, so that no text that follows is taken for a docstring.
        nothing: Any = compile("pass", self.path, "exec", ONLY_AST, dont_inherit=True)
        tree.body[: self.statements] = nothing.body
        code: Any = compile(tree, self.path, "exec", self._flags, dont_inherit=True)
        namespace, self._namespace = self._namespace, {}
        return [code, namespace]

    def is_script(self, target: str) -> bool:
        """Tell whether a command line names the same script: its ``__file__`` is that of the image."""
        try:
            return os.path.join(os.getcwd(), target) == self.path
        except OSError:
            return target == self.path
