"""Files of settings of other programs, TOML or JSON: one value more, or one less, and all else as it was."""

import copy
import json
import re
from collections.abc import MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..complaint import Complaint

Table = MutableMapping[str, Any]


@dataclass(frozen=True)
class Setting:
    """A value that a key gets. ``usual``: what a list holds where the file does not say it; None where ``value`` is no
    entry of a list."""

    keys: tuple[str, ...]
    value: str | bool | int
    usual: tuple[str, ...] | None = None

    @property
    def name(self) -> str:
        return ".".join(self.keys)


class Settings:
    """The text of one file, understood. Raises Complaint where it is not."""

    def __init__(self, path: Path, text: str, *, is_json: bool = False) -> None:
        self._path = path
        self._is_json = is_json
        # As wide as the first line that is indented; JSON has no comments, so that and the line ends are all to keep.
        indented = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
        self._indent = indented[1] if indented else "  "
        self._line_end = "\r\n" if re.match(r"[^\n]*\r\n", text) else "\n"
        try:
            self.root: Table = self._parsed(text)
        except (ValueError, RecursionError) as exc:
            raise Complaint(f"{path} is not understood, and was left as it is: {exc}; mend it first") from None
        if not isinstance(self.root, MutableMapping):
            raise Complaint(f"{path} is no table of settings, and was left as it is; mend it first")

    def text(self) -> str:
        if self._is_json:
            return _json_of(self.root, self._indent).replace("\n", self._line_end)
        # Not needed by other commands.
        import tomlkit

        return str(tomlkit.dumps(self.root))

    def plain(self) -> Any:
        """The settings without what is only form."""
        return self.root.unwrap() if hasattr(self.root, "unwrap") else self.root

    def without_form(self) -> "Settings":
        """The same settings without their form, to be changed in the same way."""
        found = copy.copy(self)
        found.root = copy.deepcopy(self.plain())
        return found

    def add(self, setting: Setting) -> None:
        table = self._table(setting.keys[:-1], make=True)
        assert table is not None
        key = setting.keys[-1]
        if setting.usual is None:
            table[key] = setting.value
            return
        if key not in table:
            table[key] = [*setting.usual, setting.value]
        elif setting.value not in self._list(table, setting):
            table[key].append(setting.value)

    def remove(self, setting: Setting, before: "Settings | None") -> None:
        """Take a value away again; ``before``: the file as it was without it, None where there was none."""
        table = self._table(setting.keys[:-1], make=False)
        key = setting.keys[-1]
        if table is None or key not in table:
            return
        earlier = before._table(setting.keys[:-1], make=False) if before else None
        if setting.usual is None:
            if earlier is not None and key in earlier:
                table[key] = earlier[key]
            else:
                del table[key]
        else:
            left = self._list(table, setting)
            said = list(earlier[key]) if earlier is not None and key in earlier else []
            while setting.value in left and setting.value not in said:
                left.remove(setting.value)
            if list(left) == list(setting.usual) and not (earlier is not None and key in earlier):
                del table[key]
        self._drop_empty(setting.keys[:-1], before)

    def _drop_empty(self, keys: tuple[str, ...], before: "Settings | None") -> None:
        while keys and not self._table(keys, make=False):
            parent = self._table(keys[:-1], make=False)
            if parent is None or (before is not None and before._table(keys, make=False) is not None):
                return
            parent.pop(keys[-1], None)
            keys = keys[:-1]

    def _table(self, keys: tuple[str, ...], *, make: bool) -> Table | None:
        table = self.root
        for position, key in enumerate(keys):
            if key not in table:
                if not make:
                    return None
                table[key] = {}
            table = table[key]
            if not isinstance(table, MutableMapping):
                name = ".".join(keys[: position + 1])
                raise Complaint(f"{self._path}: {name} is no table; the file was left as it is: mend that first")
        return table

    def _list(self, table: Table, setting: Setting) -> Any:
        found = table[setting.keys[-1]]
        if not isinstance(found, list):
            raise Complaint(f"{self._path}: {setting.name} is no list; the file was left as it is: mend that first")
        return found

    def _parsed(self, text: str) -> Any:
        if self._is_json:
            return _parsed_json(text) if text.strip() else {}
        import tomlkit

        return tomlkit.parse(text)


# In front of a number, which is kept as it is written: no text may have this character, by the rules of Unicode.
NUMBER = "\ufdd0"


def _parsed_json(text: str) -> Any:
    def number(written: str) -> str:
        return NUMBER + written

    if NUMBER in text or "\\ufdd0" in text.lower():
        raise ValueError("it has a character that no text may have")
    return json.loads(
        text, object_pairs_hook=_without_doubles, parse_int=number, parse_float=number, parse_constant=_refused
    )


def _json_of(root: Table, indent: str) -> str:
    text = json.dumps(root, indent=indent, ensure_ascii=False) + "\n"
    text = re.sub(f'"{NUMBER}([^"]*)"', r"\1", text)
    # Half a character can only be written as an escape.
    return re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", text)


def _refused(written: str) -> None:
    raise ValueError(f"{written} is no number in JSON")


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands there twice")
    return found
