"""The report that root writes of the start-up: JSON, by hand, for ``json`` is not on the rank path."""

import sys

VERSION = 1


def write_report(path: str, facts: dict[str, int | float | str]) -> None:
    """Write ``facts`` as one JSON object to ``path``. A failure is said in one line and has no other effect."""
    fields = {"report_version": VERSION, **facts}
    text = ",\n  ".join(f"{_quoted(name)}: {_value(value)}" for name, value in fields.items())
    try:
        with open(path, "w") as stream:
            stream.write("{\n  " + text + "\n}\n")
    except OSError as exc:
        print(f"mpiimport: the report cannot be written: {exc}", file=sys.stderr, flush=True)


def _value(value: int | float | str) -> str:
    return _quoted(value) if isinstance(value, str) else repr(value)


def _quoted(text: str) -> str:
    escaped = [
        char if char.isascii() and char.isprintable() and char not in '"\\' else f"\\u{ord(char):04x}" for char in text
    ]
    return '"' + "".join(escaped) + '"'
