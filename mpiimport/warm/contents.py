"""What objects of classes of C hold, where neither their attributes nor the collector of garbage show it.

Nothing changes in an object that is asked.
"""

import _abc  # type: ignore[import-not-found]
import operator
import sys
import types
import weakref
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from datetime import datetime, time
from typing import Any

# Between numbers of long double is memory without a meaning.
LONG_DOUBLES = ("g", "G")


def _of_array(kind: Any, array: Any) -> object:
    form = array.shape, array.strides, array.dtype.str, array.flags.writeable
    if array.dtype.hasobject:
        return form
    return form, kind.tolist(array) if array.dtype.char in LONG_DOUBLES else kind.tobytes(array)


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
    "numpy.memmap": lambda _, array: (array.shape, array.dtype.str),
    "numpy.ndarray": _of_array,
    "numpy.random.bit_generator.BitGenerator": lambda _, bits: bits.state,
    "zoneinfo.ZoneInfo": lambda _, zone: zone.key,
}
# Modules with classes of C that tell all of their objects by repr.
TOLD = {"decimal", "datetime", "gmpy2"}
# Of ctypes: what is larger is not looked at, in bytes; and that of an address.
MOST, WORD = 1 << 14, 8


def told(value: Any) -> object:
    """Return what an object of C holds, as something with a repr; None if nothing is known."""
    kind = type(value)
    tell = TELLS.get(f"{kind.__module__}.{kind.__qualname__}")
    if tell:
        return tell(value)
    for base in kind.__mro__:
        if f"{base.__module__}.{base.__qualname__}" in BASES:
            return BASES[f"{base.__module__}.{base.__qualname__}"](base, value)
    if kind.__module__ in TOLD:
        return value
    if kind.__module__ == "builtins" and kind.__name__.endswith("iterator"):
        return operator.length_hint(value, -1)
    if kind.__module__.startswith("_") and hasattr(kind, "hexdigest"):
        return value.hexdigest()
    return None


def held(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield what an object of C leads to, each with what tells it from the others."""
    kind = type(value)
    if issubclass(kind, deque):
        yield ".maxlen", value.maxlen
    elif issubclass(kind, weakref.ReferenceType):
        yield ".()", target_of(value)
    elif issubclass(kind, datetime):
        yield ".tzinfo", datetime.tzinfo.__get__(value)
    elif issubclass(kind, time):
        yield ".tzinfo", time.tzinfo.__get__(value)
    elif issubclass(kind, defaultdict):
        yield ".default_factory", value.default_factory
    elif kind.__name__ == "ndarray" and value.dtype.hasobject:
        yield from ((f"[{number}]", part) for number, part in enumerate(value.flat))
    elif kind is ContextVar:
        yield ".get()", value.get(None)
    elif issubclass(kind, type) and "_abc_impl" in type.__getattribute__(value, "__dict__"):
        registered = [reference() for reference in _abc._get_dump(value)[0]]
        yield ".register", " ".join(sorted(each.__qualname__ for each in registered if each))
    elif any(each.__module__ == "_ctypes" and each.__name__ == "_CData" for each in kind.__mro__):
        # It may hold addresses.
        memory = memoryview(value)
        content = bytes(value) if memory.nbytes <= MOST else b""
        for at in range(0, len(content), WORD):
            yield f"[{at}]", int.from_bytes(content[at : at + WORD], sys.byteorder)


def target_of(reference: Any) -> Any:
    """Return what a weak reference leads to, without code of a derived class."""
    return weakref.ReferenceType.__call__(reference)


def in_order(mapping: Any) -> list[tuple[Any, Any]]:
    """Return keys and values of a mapping in order. Nothing of a derived class is executed."""
    kind = type(mapping)
    if not issubclass(kind, dict):
        return [*mapping.items()]
    pairs = [*dict.items(mapping)]
    if not issubclass(kind, OrderedDict):
        return pairs
    values = {id(key): value for key, value in pairs}
    return [(key, values[id(key)]) for key in OrderedDict.__iter__(mapping)]


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
    kind = type(value)
    if kind.__module__ == "random" and kind.__name__ == "Random":
        return value.getstate()
    if kind.__module__ == "torch._C" and kind.__name__ == "Generator":
        return bytes(value.get_state().tolist())
    if kind.__module__.startswith("numpy.random"):
        if kind.__name__ == "Generator":
            return repr(value.bit_generator.state)
        if kind.__name__ == "RandomState":
            return repr(value.get_state(legacy=False)["state"]["key"].tobytes())
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
