"""What modules have when they have been executed, as texts that two interpreters can be compared by.

It is executed in the audit's interpreter before the modules: it imports nothing, and calls no code of theirs.
"""

import sys
from _imp import source_hash

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

# Longer texts are compared by their digests; smaller numbers are no addresses.
SHORT, ADDRESSES = 200, 1 << 32
# So many steps from a module, all but the kind of a value is left out.
DEEPEST = 40
SEED, HEXADECIMAL = 0x6D706969, "0123456789abcdef"
# Of type.__flags__: what Python code can change.
HEAP_TYPE = 1 << 9
PLAIN = (int, float, complex, bool, type(None), str, bytes)
# Whatever a class derived from these has: the way to the value itself, where that is one number or text.
SIMPLE: "dict[type[Any], Any]" = {
    **dict.fromkeys((dict, list, tuple, set, frozenset)),
    str: str.__str__,
    int: int.__int__,
    float: float.__float__,
}
# Of a class: what says where it was written, or is the interpreter's own.
OF_CLASSES = {"__dict__", "__weakref__", "__module__", "__doc__", "_abc_impl", "__firstlineno__"}
# Modules with classes of C that tell all of their objects by repr; those with arrays, and with numbers like arrays.
TOLD, ARRAYS = {"decimal", "datetime"}, {"numpy", "array", "builtins"}
EXAMPLE: "Any" = (lambda kept: lambda: kept)(0)
FUNCTION, CODE, CELL, METHOD = type(EXAMPLE), type(EXAMPLE.__code__), type(EXAMPLE.__closure__[0]), type(len)
MRO: "Any" = type.__dict__["__mro__"]
NAMES: "Any" = type.__dict__["__dict__"]
MEMBER, GETTER = type(slice.start), type(NAMES)


class Contents:
    """Each object has the text that it had when it was first reached: what modules share, another one may change."""

    def __init__(self) -> None:
        self._texts: dict[int, tuple[object, str]] = {}
        self._parts_of_kind: dict[type[Any], list[Any]] = {}

    def of(self, module: object) -> dict[str, str]:
        """Return what a module has, by its names."""
        if not issubclass(type(module), type(sys)):
            return {}
        return {key: self._text(value, 0) for key, value in [*_names_of(module).items()] if type(key) is str}

    def _text(self, value: "Any", depth: int) -> str:
        kind = type(value)
        if kind in PLAIN:
            return _plain(value)
        if issubclass(kind, type(sys)):
            return f"module {_names_of(value).get('__name__')!r}"
        known = self._texts.get(id(value))
        if known is not None:
            return known[1]
        text = _name(kind)
        if depth == DEEPEST:
            return text
        # It is kept, so that no other object gets its number. What leads back to it sees its kind.
        self._texts[id(value)] = value, text
        try:
            text += _digest(" ".join(self._parts(kind, value, depth + 1)))
        except Exception:
            # An empty cell, say, and memory that nobody may look at.
            text += " of which nobody can tell"
        self._texts[id(value)] = value, text
        return text

    def _parts(self, kind: "type[Any]", value: "Any", depth: int) -> "Iterator[str]":
        """Yield what tells a value from others of its kind. What has no order comes in that of its text."""
        if kind in SIMPLE:
            yield from self._elements(kind, value, depth)
        elif issubclass(kind, type):
            yield from map(_name, MRO.__get__(value))
            if value.__flags__ & HEAP_TYPE:
                names = NAMES.__get__(value)
                yield from self._items({key: names[key] for key in names if key not in OF_CLASSES}, depth)
        elif kind is FUNCTION:
            for part in (value.__code__, value.__defaults__, value.__kwdefaults__, value.__closure__, value.__dict__):
                yield self._text(part, depth)
        elif kind is CODE:
            for part in (value.co_code, value.co_names, value.co_consts):
                yield self._text(part, depth)
        elif kind is CELL:
            yield self._text(value.cell_contents, depth)
        elif kind is METHOD:
            yield value.__qualname__
        elif kind.__module__ in TOLD:
            yield repr(value)
        elif kind.__module__ in ARRAYS and hasattr(kind, "tobytes"):
            yield _digest(memoryview(value).tobytes().hex())
        else:
            yield from self._parts_of_object(kind, value, depth)

    def _elements(self, base: "type[Any]", value: "Any", depth: int) -> "Iterator[str]":
        """Yield the elements of a container, or the number or text that an object of a derived class is."""
        if base is dict:
            yield from self._items(value, depth)
        elif base in (list, tuple):
            yield from (self._text(each, depth) for each in [*base.__iter__(value)])
        elif base in (set, frozenset):
            yield from sorted(self._text(each, depth) for each in [*base.__iter__(value)])
        else:
            yield _plain(SIMPLE[base](value))

    def _items(self, names: "dict[Any, Any]", depth: int) -> list[str]:
        return sorted(f"{self._text(key, depth)}={self._text(each, depth)}" for key, each in [*dict.items(names)])

    def _parts_of_object(self, kind: "type[Any]", value: "Any", depth: int) -> "Iterator[str]":
        for base in SIMPLE:
            if issubclass(kind, base):
                yield from self._elements(base, value, depth)
        if kind not in self._parts_of_kind:
            self._parts_of_kind[kind] = _descriptors(kind)
        for descriptor in self._parts_of_kind[kind]:
            try:
                part = descriptor.__get__(value)
            except AttributeError:
                continue
            yield self._text(part, depth)


def is_proxy(kind: "type[Any]") -> bool:
    """Tell whether code of a class gives its objects' attributes, which may be those of something else."""
    others = [each for each in MRO.__get__(kind) if _name(each).partition(".")[0] not in sys.stdlib_module_names]
    return any("__getattribute__" in NAMES.__get__(each) for each in others)


def _descriptors(kind: "type[Any]") -> "list[Any]":
    """Return what gives the parts of an object: its attributes and slots."""
    if is_proxy(kind):
        return []
    classes = [NAMES.__get__(each) for each in MRO.__get__(kind)[:-1]]
    slots = [names[key] for names in classes for key in sorted(names) if type(names[key]) is MEMBER]
    return slots + [names["__dict__"] for names in classes if type(names.get("__dict__")) is GETTER][:1]


def _names_of(module: "Any") -> "dict[str, Any]":
    names: dict[str, Any] = object.__getattribute__(module, "__dict__")
    return names


def _name(kind: "type[Any]") -> str:
    """Return the name of a class, which may be whatever the class makes of it."""
    try:
        return f"{kind.__module__}.{kind.__qualname__}"
    except Exception:
        return "a class"


def _plain(value: "Any") -> str:
    if type(value) in (str, bytes):
        # Texts tell addresses as hexadecimal numbers.
        first, *rest = repr(value).split("0x")
        text = first + "".join(f"0x{part.lstrip(HEXADECIMAL)}" for part in rest)
        return text if len(text) <= SHORT else f"{type(value).__name__} {_digest(text)}"
    return "an address, or a large number" if type(value) is int and value >= ADDRESSES else repr(value)


def _digest(text: str) -> str:
    return source_hash(SEED, text.encode(errors="surrogatepass")).hex()
