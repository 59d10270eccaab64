"""The report that root writes of a run: JSON, by hand, for ``json`` is not on the rank path."""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeAlias

    Value: TypeAlias = "int | float | str | Sequence[Value] | Mapping[str, Value]"

VERSION = 2


def write_report(path: str, facts: "Mapping[str, Value]") -> None:
    """Write ``facts`` as one JSON object to ``path``. A failure is said in one line and has no other effect."""
    fields = {"report_version": VERSION, **facts}
    text = ",\n  ".join(f"{_quoted(name)}: {_json(value)}" for name, value in fields.items())
    try:
        with open(path, "w") as stream:
            stream.write("{\n  " + text + "\n}\n")
    except OSError as exc:
        print(f"mpiimport: the report cannot be written: {exc}", file=sys.stderr, flush=True)


def _json(value: "Value") -> str:
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_quoted(name)}: {_json(item)}" for name, item in value.items()) + "}"
    return "[" + ", ".join(_json(item) for item in value) + "]"


def _quoted(text: str) -> str:
    return '"' + "".join(char if _is_plain(char) else _escaped(char) for char in text) + '"'


def _is_plain(char: str) -> bool:
    return char.isascii() and char.isprintable() and char not in '"\\'


def _escaped(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))
