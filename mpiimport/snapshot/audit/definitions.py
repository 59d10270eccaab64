"""What functions, classes, code and type hints are made of, as parts and as text that tells one from another."""

import sys
import types
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

# Where there are none, None is there, but for the last.
FUNCTION_PARTS = ("__defaults__", "__kwdefaults__", "__closure__", "__dict__")
# From Python 3.14 on a function gives them, and asking for them executes it: see PEP 649.
NAMES_OF_CLASS = ("__module__", "__qualname__")
ANNOTATIONS = "__annotate__" if sys.version_info >= (3, 14) else "__annotations__"
HINT_PARTS = (
    *("__origin__", "__args__", "__metadata__", "__supertype__", "__bound__", "__constraints__"),
    *("__forward_arg__", "__name__", "_name"),
)
# Classes of Python's own, which their module does not have: whoever has made another one by such a name is not named.
OF_PYTHON = {kind for kind in vars(types).values() if isinstance(kind, type) and kind.__module__ == "builtins"}
# A hint may lead to itself.
DEEPEST = 8


def of_function(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield what a function leads to. Its names and its text are there where they are not those of its code."""
    code = function.__code__
    for name in FUNCTION_PARTS:
        part = getattr(function, name)
        if part is not None:
            yield f".{name}", part
    annotations = getattr(function, ANNOTATIONS)
    if annotations:
        yield f".{ANNOTATIONS}", annotations
    written = {"__name__": code.co_name, "__qualname__": getattr(code, "co_qualname", function.__qualname__)}
    written["__doc__"] = code.co_consts[0] if code.co_consts else None
    for name, text in written.items():
        value = getattr(function, name)
        if value is not None and value != text:
            yield f".{name}", value


def of_class(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield a class's names, and the classes it is made of."""
    name, full = (type.__getattribute__(kind, each) for each in ("__name__", "__qualname__"))
    yield ".__qualname__", full
    if full.rpartition(".")[2] != name:
        yield ".__name__", name
    bases = type.__getattribute__(kind, "__bases__")
    yield from ((f".__bases__[{number}]", base) for number, base in enumerate(bases))


def names_in_closure(function: types.FunctionType) -> str:
    """Return the names of the functions and classes that a function has around it."""
    names = []
    for cell in function.__closure__ or ():
        try:
            content = cell.cell_contents
        except ValueError:
            continue
        if isinstance(content, types.MethodType):
            content = content.__func__
        if type(content) is types.FunctionType:
            names.append(f"{content.__module__}.{content.__qualname__}")
        elif isinstance(content, type):
            names.append(".".join(map(str, (type.__getattribute__(content, each) for each in NAMES_OF_CLASS))))
    return " ".join(names)


@cache
def is_named(kind: Any) -> bool:
    """Tell whether the module of a class has it by its name, as it has not one that a function has made."""
    if kind in OF_PYTHON:
        return True
    module, name = (type.__getattribute__(kind, each) for each in ("__module__", "__qualname__"))
    holder: Any = sys.modules.get(module) if isinstance(module, str) else None
    for part in name.split("."):
        looks = type if isinstance(holder, type) else object
        try:
            holder = looks.__getattribute__(holder, "__dict__").get(part)
        except AttributeError:
            return False
    return holder is kind


def is_hint(value: Any) -> bool:
    """Tell whether a value is an object of ``typing`` or one like ``list[int]``: they are kept, and shared at will."""
    kind: Any = type(value)
    return is_kind_of_hint(kind)


@cache
def is_kind_of_hint(kind: Any) -> bool:
    """Tell whether that holds of the objects of a class."""
    if issubclass(kind, type):
        return False
    return kind.__module__ == "typing" or issubclass(kind, (types.GenericAlias, types.UnionType))


def text_of_hint(hint: Any, name: Callable[[Any], str], depth: int = 0) -> str:
    """Return what a hint is made of. ``name`` gives the text of what is none."""
    if type(hint) is tuple:
        return f"({' '.join(text_of_hint(each, name, depth) for each in hint)})"
    if not is_hint(hint):
        return name(hint)
    if depth > DEEPEST:
        return ""
    parts = ((each, getattr(hint, each, None)) for each in HINT_PARTS)
    text = " ".join(f"{each}={text_of_hint(part, name, depth + 1)}" for each, part in parts if part is not None)
    return f"{type(hint).__qualname__} {text}"


def text_of_code(code: types.CodeType) -> str:
    """Return what a function does, as text: its code, and the constants and names in it."""
    return f"{code.co_code.hex()} {code.co_names} {[*map(_text_of_constant, code.co_consts)]}"


def _text_of_constant(value: Any) -> str:
    if isinstance(value, types.CodeType):
        return text_of_code(value)
    # In a set, the order follows from the secret of hashes.
    return repr(sorted(map(repr, value)) if isinstance(value, frozenset) else value)
