"""The begin of a file, which a start's own must have."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# See ast.PyCF_ONLY_AST.
ONLY_AST = 0x400
FUTURE = "__future__"


class Head:
    """The begin of a file of own code: ``text``, of so many ``statements``; that of the last one ends at ``end``,
    line and column. ``is_whole``: the file has nothing else."""

    def __init__(self, name: str, path: str, text: bytes, statements: int, end: "tuple[int, int]", is_whole: bool):
        self.name = name
        self.path = path
        self.text = text
        self.statements = statements
        self.end = end
        self.is_whole = is_whole

    def packed(self) -> "tuple[Any, ...]":
        """Return what the constructor takes, for marshal."""
        return self.name, self.path, self.text, self.statements, self.end, self.is_whole

    def doubt(self, text: bytes, tree: "Any" = None) -> str:
        """Return why a file with this text does not begin so, or nothing. ``tree``: its syntax tree, if that is known.

        Raises SyntaxError or ValueError.
        """
        if self.is_whole and text == self.text:
            return ""
        if self.is_whole or not text.startswith(self.text):
            return f"{self.path} begins with other statements"
        if self.statements:
            body = (tree or tree_of(text, self.path)).body
            last = body[self.statements - 1 : self.statements]
            if not last or (last[0].end_lineno, last[0].end_col_offset) != self.end:
                return f"{self.path} has a longer statement at the cut"
            if any(getattr(each, "module", "") == FUTURE for each in body[self.statements : self.statements + 1]):
                # It would hold for the head, too.
                return f"{self.path} has a future statement behind the cut"
        return ""


def tree_of(text: bytes, path: str) -> "Any":
    """Return the syntax tree of a text. Raises SyntaxError or ValueError."""
    return compile(text, path, "exec", ONLY_AST, dont_inherit=True)
