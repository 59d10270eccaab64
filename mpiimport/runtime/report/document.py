"""A report as JSON, by hand: ``json`` is not on the rank path, and what imports it is the program's to choose."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeAlias

    Value: TypeAlias = "int | float | str | Sequence[Value] | Mapping[str, Value] | None"

# Raised whenever a field changes its meaning or goes; mpiimport/host/report/report.schema.json describes this version.
VERSION = 3


def as_json(facts: "Mapping[str, Value]") -> str:
    """Return ``facts`` as one JSON object, a line for each of them."""
    fields = {"report_version": VERSION, **facts}
    return "{\n  " + ",\n  ".join(f"{_quoted(name)}: {_json(value)}" for name, value in fields.items()) + "\n}\n"


def _json(value: "Value") -> str:
    if value is None:
        return "null"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, bool):
        return "true" if value else "false"
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
