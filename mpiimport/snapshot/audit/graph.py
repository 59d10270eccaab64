"""The state of an interpreter as paths and values, which two interpreters are compared by.

Whatever a module leads to is followed, nearest paths first. A value is marked where it may be an address, by the
process's own mappings.
"""

import abc
import gc
import re
import sys
import types
import weakref
import zlib
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from typing import Any

from ..lazy_modules import is_kind_that_waits, is_waiting
from .addresses import LOW_END, blind, mapped
from .contents import (
    enumerated,
    has_drawn,
    held,
    in_slots,
    is_proxy,
    is_unordered,
    module_of,
    state_of_generator,
    target_of,
    told,
)
from .definitions import (
    is_hint,
    is_kind_of_hint,
    is_named,
    names_in_closure,
    of_class,
    of_function,
    text_of_code,
    text_of_hint,
)

HEX = re.compile(r"0x([0-9a-f]{6,})")
PLAIN = (int, float, str, bytes, complex, bool, type(None), type(Ellipsis), range)
# The value itself of an instance of a derived class.
BARE: dict[type, Any] = {
    str: str.__str__,
    bytes: lambda value: bytes(memoryview(value)),
    int: int.__int__,
    float: float.__float__,
}
# The last is what abstract classes keep: contents.py tells what was registered, and the rest is remembered at will.
PASSED_OVER: tuple[type, ...] = (types.FrameType, types.TracebackType, type(vars(abc.ABC)["_abc_impl"]))
CONTAINERS = (dict, list, tuple, set, frozenset)
# Of a module: what the import system keeps of where it comes from.
OF_IMPORTS = {"__builtins__", "__loader__", "__spec__", "__cached__"}
# In a path: of an object that nothing else tells from those of its name.
NUMBER = re.compile(r" ~?\d+(?=[}\]])")
# In a path: among several of a set that have the same name, in the order of their addresses.
AMONG = " ~"
GENERATOR = "generator "
# Ends the value of a generator that has given something since it took its seed.
DRAWN = " has drawn"
LONGEST = 1000


class Graph:
    """``values``: path -> what is there, as text; the path begins with the name of a module and a colon."""

    def __init__(self, left_out: set[str]) -> None:
        """``left_out``: modules that are not looked at, the comparison's own."""
        self.values: dict[str, str] = {}
        self._ranges = sorted(mapped())
        self._starts = [start for start, _ in self._ranges]
        self._texts: dict[type, Callable[[Any], str] | None] = {}
        self._seen: dict[int, tuple[str, object]] = {}
        self._hints: dict[int, tuple[str, object]] = {}
        self._waiting: deque[tuple[str, Any]] = deque()
        names = [name for name in sys.modules if name not in left_out]
        modules = {name: each for name in names if not is_waiting(each := sys.modules[name])}
        # What stands for a module may make its dictionary when that is asked for.
        parts = {name: getattr(module, "__dict__", {}) for name, module in modules.items()}
        self._seen.update((id(module), (name, module)) for name, module in [*sys.modules.items()])
        self._seen.update((id(part), (name, part)) for name, part in parts.items())
        for name, module in modules.items():
            for key, value in sorted(parts[name].items(), key=lambda item: str(item[0])):
                if key not in OF_IMPORTS:
                    self._reach(f"{name}:{key}", value)
            if type(module) is not types.ModuleType:
                self._reach(f"{name}:__class__", type(module))
        while self._waiting:
            self._open(*self._waiting.popleft())

    def _reach(self, path: str, value: Any) -> None:
        """Note a value; whatever it leads to waits."""
        kind: Any = type(value)
        if kind not in self._texts:
            self._texts[kind] = self._text_of(kind)
        text_of = self._texts[kind]
        if text_of is not None:
            text = text_of(value)
            if text:
                self.values[path] = text
        elif id(value) in self._seen:
            if not path.endswith("}"):
                self.values[path] = self._known(value) if AMONG not in path else _kind(kind)
        else:
            self._seen[id(value)] = path, value
            self.values[path] = _kind(kind)
            if kind not in CONTAINERS or value:
                self._waiting.append((path, value))

    def _known(self, value: Any) -> str:
        """Return what tells a value that was found before: where that was, or its parts if it is constant."""
        if type(value) in (tuple, frozenset):
            return f"{type(value).__name__} {digest(self._name(value))}"
        path = self._seen[id(value)][0]
        return f"is {NUMBER.sub('', path) if ' ' in path else path}"

    def _text_of(self, kind: Any) -> "Callable[[Any], str] | None":
        """Return what gives the text of a number or string, of classes derived from theirs as well, and of code and
        type hints; nothing of what is passed over. None: what the objects of this class lead to is followed."""
        if kind in PLAIN:
            return self._text
        if kind is types.CodeType:
            return lambda code: f"code {digest(text_of_code(code))}"
        if is_kind_of_hint(kind):
            return self._text_of_hint
        bare = next((bare for base, bare in BARE.items() if issubclass(kind, base)), None)
        if bare is not None:
            return lambda value: f"<{kind.__qualname__}> {self._text(bare(value))}"
        if issubclass(kind, PASSED_OVER) or is_kind_that_waits(kind):
            return lambda value: ""
        return None

    def _text_of_hint(self, hint: Any) -> str:
        """One hint is in many places."""
        if id(hint) not in self._hints:
            self._hints[id(hint)] = f"hint {digest(self._name(hint))}", hint
        return self._hints[id(hint)][0]

    def _text(self, value: Any, least: int = 0) -> str:
        """Return what tells a number or string from others. ``least``: smaller numbers in it are no addresses."""
        if type(value) is int:
            return f"<address {value}>" if self._is_address(value, least) else str(value)
        text = repr(value)
        if HEX.search(text):
            # Whole: by chance it is an address in one process, and none in another; `are_alike` sees both.
            return HEX.sub(partial(self._marked, least), text)
        return f"{type(value).__name__} {digest(text)}" if len(text) > LONGEST else text

    def _text_in_name(self, value: Any) -> str:
        return blind(self._text(value, LOW_END))

    def _marked(self, least: int, match: "re.Match[str]") -> str:
        return f"<address {match[0]}>" if self._is_address(int(match[1], 16), least) else match[0]

    def _is_address(self, value: int, least: int) -> bool:
        if value < max(least, self._starts[0]):
            return False
        start, end = self._ranges[bisect_right(self._starts, value) - 1]
        return start <= value < end

    def _open(self, path: str, value: Any) -> None:
        try:
            for parts in self._parts(path, value):
                for label, part in parts:
                    self._reach(f"{path}{label}", part)
        except Exception as exc:
            self.values[path] += f" {type(exc).__name__}"

    def _parts(self, path: str, value: Any) -> Iterator[Iterable[tuple[str, Any]]]:
        """Yield what a value leads to, in groups, each with what tells it from the others."""
        kind: Any = type(value)
        state = state_of_generator(value)
        if not is_named(kind):
            yield [(".__class__", kind)]
        if kind not in CONTAINERS and issubclass(kind, CONTAINERS):
            names = self._attributes(value)
            yield self._items(names) if type(names) is dict else ()
        if state is not None:
            self.values[path] = f"{GENERATOR}{kind.__module__} {digest(repr(state))}{DRAWN if has_drawn(value) else ''}"
        elif issubclass(kind, dict | types.MappingProxyType):
            yield self._items(value)
        elif issubclass(kind, list | tuple) or kind is deque:
            yield enumerated(tuple(value))
        elif issubclass(kind, set | frozenset):
            yield self._numbered(value)
        elif kind is types.FunctionType:
            self.values[path] += f" {digest(text_of_code(value.__code__))} {module_of(value)}"
            yield of_function(value)
        elif issubclass(kind, type):
            yield of_class(value)
            yield self._items(type.__getattribute__(value, "__dict__"))
        else:
            content = told(value)
            self.values[path] += "" if content is None else f" {digest(repr(content))}"
            yield self._of_object(value)
        yield held(value)

    def _of_object(self, value: Any) -> Iterator[tuple[str, Any]]:
        names = self._attributes(value)
        named = set()
        if type(names) is dict:
            # Python 3.13 tells of these parts themselves, too.
            named = {id(part) for part in names.values()}
            yield from self._items(names)
        named |= {id(names), id(type(value))}
        others = [each for each in enumerate(gc.get_referents(value)) if id(each[1]) not in named]
        if is_unordered(type(value)):
            yield from self._numbered([part for _, part in others])
        else:
            yield from ((f"<{number}>", part) for number, part in others)

    def _items(self, mapping: Any) -> Iterator[tuple[str, Any]]:
        others = []
        for key, value in list(dict.items(mapping) if isinstance(mapping, dict) else mapping.items()):
            if type(key) in (str, bytes, float, bool) or (type(key) is int and not self._is_address(key, LOW_END)):
                yield f".{key}" if type(key) is str and key.isidentifier() else f"[{key!r}]", value
            else:
                others.append((self._name(key), key, value))
        if not others:
            return
        others.sort(key=lambda item: item[0])
        for label, (_, key, value) in zip(_labels([name for name, _, _ in others]), others, strict=True):
            yield f"[{label}]", value
            yield f"{{{label}}}", key

    def _numbered(self, elements: Any) -> Iterator[tuple[str, Any]]:
        named = sorted(((self._name(each), each) for each in elements), key=lambda item: item[0])
        labels = _labels([name for name, _ in named])
        return ((f"{{{label}}}", each) for label, (_, each) in zip(labels, named, strict=True))

    def _name(self, value: Any, hidden: str = " ") -> str:
        """Return what tells a key or element from others, without its address.

        ``hidden``: begins the names of attributes that do not count.
        """
        kind: Any = type(value)
        if kind in PLAIN:
            return self._text_in_name(value)
        if kind is tuple:
            return ",".join(map(self._name, value))
        if issubclass(kind, tuple):
            return f"{kind.__qualname__} {','.join(map(self._name, tuple(value)))}"
        if is_hint(value):
            return text_of_hint(value, self._name)
        if isinstance(value, weakref.ReferenceType):
            # A thread has its numbers by such names.
            return f"to {self._name(target_of(value), hidden='_')}"
        if is_proxy(kind):
            name = ""
        elif callable(value):
            name = (
                f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', getattr(value, '__name__', ''))}"
            )
            if kind is types.FunctionType:
                # Those of one name differ by their code, and by what is around them.
                name += f" {digest(text_of_code(value.__code__) + names_in_closure(value))}"
        else:
            # Elements of a set lie in the order of their addresses, if nothing else tells one from another.
            parts = self._attributes(value)
            named = parts if type(parts) is dict else {}
            named = {**named, **in_slots(value)}
            shown = {key: part for key, part in named.items() if not str(key).startswith(hidden)}
            name = " ".join(f"{key}={self._text_in_name(part)}" for key, part in shown.items() if type(part) in PLAIN)
        return f"{kind.__qualname__} {name}"

    def _attributes(self, value: Any) -> Any:
        """Return an object's attributes by their names, if it has such. A proxy is not asked, for it would answer."""
        kind: Any = type(value)
        return getattr(value, "__dict__", None) if hasattr(kind, "__dict__") and not is_proxy(kind) else None


def _labels(names: list[str]) -> list[str]:
    """Return names with numbers, which say of those that are the same that their order is chance."""
    times = Counter(names)
    return [f"{name}{AMONG if times[name] > 1 else ' '}{number}" for number, name in enumerate(names)]


@cache
def _kind(kind: type) -> str:
    return f"<{kind.__module__}.{kind.__qualname__}>"


def digest(text: str) -> str:
    """Return the same number in every process; the hash of a string is that of one process."""
    return f"{zlib.crc32(text.encode(errors='surrogatepass')):08x}"
