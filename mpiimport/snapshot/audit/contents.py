"""What objects of classes of C hold, where neither their attributes nor the collector of garbage show it.

Nothing changes in an object that is asked.
"""

import _abc  # type: ignore[import-not-found]
import operator
import sys
import types
import weakref
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from datetime import datetime, time
from functools import cache, partial
from typing import Any

# Numbers of long double.
LONG_DOUBLES = ("g", "G")


def _has_gaps(form: Any) -> bool:
    """Tell whether between the parts of such elements there may be memory without a meaning."""
    return form.char in LONG_DOUBLES or form.fields is not None


def _of_array(kind: Any, array: Any) -> object:
    form = array.shape, array.strides, array.dtype.str, array.flags.writeable
    if array.dtype.hasobject:
        return form
    return form, kind.tolist(array) if _has_gaps(array.dtype) else kind.tobytes(array)


# Name of a class -> what tells one of its objects from another, as something with a repr.
TELLS: dict[str, Callable[[Any], object]] = {
    "_csv.Dialect": lambda dialect: [getattr(dialect, name) for name in dir(dialect) if not name.startswith("_")],
    "_io.BytesIO": lambda stream: (stream.tell(), stream.getvalue()),
    "_io.StringIO": lambda stream: (stream.tell(), stream.getvalue()),
    "_struct.Struct": lambda struct: struct.format,
    "_thread.RLock": lambda lock: repr(lock).partition(" ")[0],
    "array.array": lambda array: (array.typecode, array.tobytes()),
    "_thread.lock": lambda lock: lock.locked(),
    "builtins.bytearray": bytes,
    "builtins.enumerate": lambda numbers: numbers.__reduce__()[1][1],
    "builtins.memoryview": lambda view: (view.shape, view.strides, view.format, view.tobytes()),
    "builtins.generator": lambda generator: generator.gi_frame and generator.gi_frame.f_lasti,
    "itertools.count": repr,
    "itertools.islice": lambda part: part.__reduce__()[1][1:],
    "numpy.random.bit_generator.SeedSequence": lambda seed: seed.state,
    "re.Pattern": lambda pattern: (pattern.pattern, pattern.flags),
}
# The same of a class of C and those that are derived from it, of which nothing is executed.
BASES: dict[str, Callable[[Any, Any], object]] = {
    # In the order of their bases: the zone is told by its own object.
    "datetime.datetime": lambda kind, date: kind.__reduce_ex__(date, 4)[1][0],
    "datetime.time": lambda kind, clock: kind.__reduce_ex__(clock, 4)[1][0],
    "datetime.date": lambda kind, date: kind.__repr__(date),
    "datetime.timedelta": lambda kind, delta: kind.__repr__(delta),
    "numpy.dtype": lambda kind, form: kind.__repr__(form),
    "numpy.generic": lambda kind, number: str(number) if number.dtype.char in LONG_DOUBLES else kind.tobytes(number),
    "numpy.void": lambda kind, parts: kind.item(parts) if _has_gaps(parts.dtype) else kind.tobytes(parts),
    "numpy.memmap": lambda _, array: (array.shape, array.dtype.str),
    "numpy.ndarray": _of_array,
    "numpy.random.bit_generator.BitGenerator": lambda _, bits: bits.state,
    "zoneinfo.ZoneInfo": lambda _, zone: zone.key,
}
# Modules with classes of C that tell all of their objects by repr.
TOLD = {"decimal", "datetime", "gmpy2"}
# Caches, and hash tables of C++, which tell the collector of what they hold in an order that no program sees.
UNORDERED = {
    "functools._lru_cache_wrapper",
    "jaxlib._jax.pytree.PyTreeRegistry",
    "jaxlib.weakref_lru_cache.WeakValueInterner",
    "jaxlib.weakref_lru_cache.WeakrefLRUCache",
}
# Of ctypes: what is larger is not looked at, in bytes; and that of an address.
MOST, WORD = 1 << 14, 8


def told(value: Any) -> object:
    """Return what an object of C holds, as something with a repr; None if nothing is known."""
    kind: Any = type(value)
    tell = _teller(kind)
    return tell and tell(value)


@cache
def _teller(kind: Any) -> "Callable[[Any], object] | None":
    """Return what tells one object of a class from another. There are few classes, and many objects."""
    name = f"{kind.__module__}.{kind.__qualname__}"
    if name in TELLS:
        return TELLS[name]
    for base in kind.__mro__:
        tell = BASES.get(f"{base.__module__}.{base.__qualname__}")
        if tell:
            return partial(tell, base)
    if kind.__module__ in TOLD:
        return lambda value: value
    if kind.__module__ == "builtins" and kind.__name__.endswith("iterator"):
        return lambda value: operator.length_hint(value, -1)
    if kind.__module__.startswith("_") and hasattr(kind, "hexdigest"):
        return lambda value: value.hexdigest()
    return None


def held(value: Any) -> Iterable[tuple[str, Any]]:
    """Return what an object of C leads to, each with what tells it from the others."""
    kind: Any = type(value)
    holds = _holder(kind)
    return holds(value) if holds else ()


@cache
def _holder(kind: Any) -> "Callable[[Any], Iterable[tuple[str, Any]]] | None":
    """Return what gives the parts of a class's objects."""
    for base, holds in HELD.items():
        if issubclass(kind, base):
            return holds
    if kind.__name__ == "ndarray":
        return lambda array: enumerated(array.flat) if array.dtype.hasobject else ()
    if any(each.__module__ == "_ctypes" and each.__name__ == "_CData" for each in kind.__mro__):
        return _words
    return None


def enumerated(parts: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    """Yield the parts of a sequence, each with its place."""
    return ((f"[{number}]", part) for number, part in enumerate(parts))


def _registered(kind: Any) -> Iterator[tuple[str, str]]:
    if "_abc_impl" in type.__getattribute__(kind, "__dict__"):
        registered = [reference() for reference in _abc._get_dump(kind)[0]]
        yield ".register", " ".join(sorted(each.__qualname__ for each in registered if each))


def _words(value: Any) -> Iterator[tuple[str, int]]:
    """Yield the words of an object of ctypes, which may be addresses."""
    content = bytes(value) if memoryview(value).nbytes <= MOST else b""
    for at in range(0, len(content), WORD):
        yield f"[{at}]", int.from_bytes(content[at : at + WORD], sys.byteorder)


# Class -> the same of its objects, and of those of classes that are derived from it.
HELD: dict[type, Callable[[Any], Iterable[tuple[str, Any]]]] = {
    deque: lambda value: [(".maxlen", value.maxlen)],
    weakref.ReferenceType: lambda value: [(".()", target_of(value))],
    datetime: lambda value: [(".tzinfo", datetime.tzinfo.__get__(value))],
    time: lambda value: [(".tzinfo", time.tzinfo.__get__(value))],
    defaultdict: lambda value: [(".default_factory", value.default_factory)],
    ContextVar: lambda value: [(".get()", value.get(None))],
    type: _registered,
}


@cache
def is_proxy(kind: Any) -> bool:
    """Tell whether code of a class gives its objects' attributes, which may be those of something else."""
    others = (each for each in kind.__mro__ if each.__module__.partition(".")[0] not in sys.stdlib_module_names)
    return any("__getattribute__" in vars(each) for each in others)


def is_unordered(kind: type) -> bool:
    """Tell whether the collector gets the parts of objects in an order that is chance."""
    return f"{kind.__module__}.{kind.__qualname__}" in UNORDERED


def target_of(reference: Any) -> Any:
    """Return what a weak reference leads to, without code of a derived class."""
    return weakref.ReferenceType.__call__(reference)


def module_of(value: Any) -> str:
    """Return the module that has defined a class or function, or the class of an object; nothing for built-in ones."""
    kind = type(value)
    if issubclass(kind, type):
        name = type.__getattribute__(value, "__module__")
    else:
        name = value.__module__ if kind is types.FunctionType else kind.__module__
    return name if type(name) is str and name != "builtins" else ""


def in_slots(value: Any) -> dict[str, Any]:
    """Return the attributes of an object that it has without a dictionary, as far as they are set."""
    found = {}
    for kind in type(value).__mro__:
        for name, slot in vars(kind).items():
            if type(slot) is types.MemberDescriptorType:
                try:
                    found[name] = slot.__get__(value)
                except AttributeError:
                    continue
    return found


def state_of_generator(value: Any) -> Any:
    """Return the state of a generator of random numbers, as something with a repr; None for all else."""
    kind: Any = type(value)
    state_of = _generator(kind)
    return state_of and state_of(value)


@cache
def _generator(kind: Any) -> "Callable[[Any], object] | None":
    if kind.__module__ == "random" and kind.__name__ == "Random":
        return lambda value: value.getstate()
    if kind.__module__ == "torch._C" and kind.__name__ == "Generator":
        return lambda value: bytes(value.get_state().tolist())
    if kind.__module__.startswith("numpy.random"):
        if kind.__name__ == "Generator":
            return lambda value: repr(value.bit_generator.state)
        if kind.__name__ == "RandomState":
            return lambda value: repr(value.get_state(legacy=False)["state"]["key"].tobytes())
    return None


def has_drawn(generator: Any) -> bool:
    """Tell whether one of NumPy's or PyTorch's generators has given something since it took its seed."""
    if type(generator).__module__ == "torch._C":
        return bool(
            (type(generator)().manual_seed(generator.initial_seed()).get_state() != generator.get_state()).any()
        )
    bits: Any = getattr(generator, "bit_generator", None) or getattr(generator, "_bit_generator", None)
    seed = getattr(bits, "seed_seq", None) or getattr(bits, "_seed_seq", None)
    return seed is not None and repr(type(bits)(seed).state) != repr(bits.state)
