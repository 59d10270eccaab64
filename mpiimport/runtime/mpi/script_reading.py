"""What a script does to ``mpi4py.rc`` before it imports ``mpi4py.MPI``, by its syntax tree; nothing of it is executed.

Names, conditions and settings are followed where constants, arguments and the environment give their values. All else
is UNKNOWN, and both branches of an ``if`` count.
"""

from .. import os
from ..option_table import MPI_INIT, THREAD_LEVELS
from ..syntax_tree import imports_mpi, is_a, last_name, nodes
from .rc_settings import MPI4PY, WORDS, truth

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

RC_VARIABLE = "MPI4PY_RC_"
DEFAULTS: "dict[str, object]" = {"initialize": True, "threads": True, "thread_level": THREAD_LEVELS[-1]}
UNKNOWN = object()
# The values of names that are bound to mpi4py, and to its rc.
PACKAGE, RC = object(), object()
FUNCTIONS = ("FunctionDef", "AsyncFunctionDef", "Lambda")
COMPARISONS: "dict[str, Callable[[Any, Any], bool]]" = {
    "Eq": lambda one, other: one == other,
    "NotEq": lambda one, other: one != other,
    "Gt": lambda one, other: one > other,
    "GtE": lambda one, other: one >= other,
    "Lt": lambda one, other: one < other,
    "LtE": lambda one, other: one <= other,
}


def level_order(level: str) -> int:
    """Return how a level compares with others; MPI_Init's is the lowest."""
    return THREAD_LEVELS.index(level) if level in THREAD_LEVELS else -1


class Reading:
    """One script that is read, on one path through it."""

    def __init__(self, settings: "dict[str, object]", words: list[str] | None) -> None:
        """``settings``: what ``mpi4py.rc`` has when the script begins; ``words``: its ``sys.argv``, if known."""
        self._rc = {**DEFAULTS, **settings}
        self._names: dict[str, object] = {"__name__": "__main__"}
        self._environment: dict[str, object] = {}
        self._words: list[str] | None = words
        self._by_hand: list[str] = []
        self._found: list[str] = []

    def levels(self) -> list[str]:
        """Return the levels with which mpi4py, or the script itself, may start MPI."""
        return self._found or self._levels_here()

    def follow(self, tree: "Any") -> None:
        """Follow the script to where it imports MPI; if only functions do, into those; else to its end."""
        found = list(nodes(tree))
        if any(map(_changes_words, found)):
            self._words = None
        self._by_hand = [_level_of_call(node) for node in found if _starts_mpi(node)]
        if self._run(tree.body):
            return
        for node in found:
            if is_a(node, *FUNCTIONS[:2]) and any(map(imports_mpi, nodes(node))):
                path = self._fork()
                path._forget(node)
                path._run(node.body)

    def _fork(self) -> "Reading":
        path = Reading(dict(self._rc), self._words)
        path._names, path._environment = dict(self._names), dict(self._environment)
        path._by_hand, path._found = self._by_hand, self._found
        return path

    def _join(self, other: "Reading") -> None:
        """Go on from where either path may have led."""
        for mine, theirs in (
            (self._rc, other._rc),
            (self._names, other._names),
            (self._environment, other._environment),
        ):
            for name in {*mine, *theirs}:
                pair = mine.get(name), theirs.get(name)
                bound = next((each for each in pair if each is PACKAGE or each is RC), None)
                if bound is not None and None in pair:
                    # A script that uses a module which may be missing has it.
                    mine[name] = bound
                elif mine.get(name, UNKNOWN) != theirs.get(name, UNKNOWN):
                    mine[name] = UNKNOWN

    def _run(self, statements: "list[Any]") -> bool:
        """Follow statements; tell whether MPI is imported in any case."""
        return any(self._step(statement) for statement in statements)

    def _step(self, statement: "Any") -> bool:
        if is_a(statement, "If"):
            return self._branch(self._value(statement.test), statement.body, statement.orelse)
        if is_a(statement, "For", "AsyncFor", "While"):
            self._forget(statement)
            return self._branch(UNKNOWN, statement.body, statement.orelse)
        if is_a(statement, "With", "AsyncWith"):
            for item in statement.items:
                self._forget(item)
            return self._run(statement.body)
        if is_a(statement, "Try", "TryStar"):
            instead = [part for handler in statement.handlers for part in handler.body]
            followed = statement.body + statement.orelse
            return self._branch(UNKNOWN if instead else True, followed, instead) or self._run(statement.finalbody)
        if imports_mpi(statement):
            self._found += self._levels_here()
            return True
        if is_a(statement, "Import", "ImportFrom"):
            self._bind(statement)
            return False
        if is_a(statement, *FUNCTIONS, "ClassDef"):
            self._names[statement.name] = UNKNOWN
            return False
        if is_a(statement, "Assign", "AnnAssign") and statement.value is not None:
            value = self._value(statement.value)
            for target in statement.targets if is_a(statement, "Assign") else [statement.target]:
                self._store(target, value)
        elif is_a(statement, "Expr") and is_a(statement.value, "Call"):
            self._call(statement.value)
        else:
            self._forget(statement)
        return False

    def _branch(self, condition: object, body: "list[Any]", otherwise: "list[Any]") -> bool:
        if condition is not UNKNOWN:
            return self._run(body if condition else otherwise)
        other = self._fork()
        ends, other_ends = self._run(body), other._run(otherwise)
        if ends:
            self.__dict__.update(other.__dict__)
        elif not other_ends:
            self._join(other)
        return ends and other_ends

    def _bind(self, statement: "Any") -> None:
        """Note which names of an import are mpi4py's."""
        for alias in statement.names:
            if is_a(statement, "ImportFrom"):
                found = RC if (statement.module, alias.name) == (MPI4PY, "rc") else UNKNOWN
            else:
                found = PACKAGE if (alias.name if alias.asname else alias.name.partition(".")[0]) == MPI4PY else UNKNOWN
            self._names[alias.asname or alias.name.partition(".")[0]] = found

    def _set(self, rc: "Any", values: "dict[str, object]") -> None:
        """Store into mpi4py's rc, if ``rc`` leads to that; of what is named so, and may be that, nothing is known."""
        found = self._value(rc)
        if found is RC:
            self._rc.update(values)
        elif found is UNKNOWN and last_name(rc) == "rc":
            self._rc.update(dict.fromkeys(values, UNKNOWN))

    def _store(self, target: "Any", value: object) -> None:
        if is_a(target, "Name"):
            self._names[target.id] = value
        elif is_a(target, "Attribute"):
            self._set(target.value, {target.attr: value})
        elif is_a(target, "Subscript") and last_name(target.value) == "environ":
            self._environment[str(self._value(target.slice))] = value
        else:
            self._forget(target)

    def _call(self, call: "Any") -> None:
        """Follow ``rc(NAME=VALUE)`` and what stores into the environment."""
        called = last_name(call.func)
        values = {str(keyword.arg): self._value(keyword.value) for keyword in call.keywords}
        self._set(call.func, values)
        if called == "update" and last_name(call.func.value) == "environ":
            self._environment.update(values)
            for given in call.args:
                pairs = zip(given.keys, given.values, strict=True) if is_a(given, "Dict") else ()
                self._environment.update((str(self._value(key)), self._value(value)) for key, value in pairs)
        elif called in ("setdefault", "putenv") and len(call.args) == 2:
            name, value = map(self._value, call.args)
            if called == "putenv" or self._variable(name) is None:
                self._environment[str(name)] = value

    def _forget(self, node: "Any") -> None:
        """Know no more of the names, and of the settings, that are stored somewhere in a node."""
        for part in nodes(node):
            if is_a(part, "arg"):
                self._names[part.arg] = UNKNOWN
            elif is_a(getattr(part, "ctx", None), "Store", "Del"):
                self._names[last_name(part)] = UNKNOWN
                if is_a(part, "Attribute"):
                    self._set(part.value, {part.attr: UNKNOWN})

    def _value(self, node: "Any") -> object:
        if is_a(node, "Constant"):
            return node.value
        if is_a(node, "Name"):
            return self._names.get(node.id, UNKNOWN)
        if is_a(node, "Attribute"):
            return RC if node.attr == "rc" and self._value(node.value) is PACKAGE else UNKNOWN
        if is_a(node, "UnaryOp") and is_a(node.op, "Not"):
            value = self._value(node.operand)
            return UNKNOWN if value is UNKNOWN else not value
        if is_a(node, "IfExp"):
            test = self._value(node.test)
            return UNKNOWN if test is UNKNOWN else self._value(node.body if test else node.orelse)
        if is_a(node, "Subscript") and last_name(node.value) == "argv":
            place = self._value(node.slice)
            words = self._words or ()
            return words[place] if isinstance(place, int) and 0 <= place < len(words) else UNKNOWN
        if is_a(node, "Subscript") and last_name(node.value) == "environ":
            return self._variable(self._value(node.slice))
        if is_a(node, "Compare") and len(node.ops) == 1:
            compare = COMPARISONS.get(type(node.ops[0]).__name__)
            values = [self._value(node.left), self._value(node.comparators[0])]
            return UNKNOWN if compare is None or UNKNOWN in values else compare(*values)
        return self._value_of_call(node) if is_a(node, "Call") and node.args else UNKNOWN

    def _value_of_call(self, call: "Any") -> object:
        called = last_name(call.func)
        if called == "len" and last_name(call.args[0]) == "argv":
            return UNKNOWN if self._words is None else len(self._words)
        if called == "getenv" or (called == "get" and last_name(getattr(call.func, "value", None)) == "environ"):
            found, *default = map(self._value, call.args)
            value = self._variable(found)
            return value if value is not None else (default[0] if default else None)
        return UNKNOWN

    def _variable(self, name: object) -> object:
        if not isinstance(name, str):
            return UNKNOWN
        return self._environment[name] if name in self._environment else os.environ.get(name)

    def _setting(self, name: str) -> object:
        """Return an option as mpi4py reads it: the variable before the attribute."""
        said = self._variable(RC_VARIABLE + name.upper())
        if said is None:
            return self._rc[name]
        return WORDS.get(said.lower(), said.lower()) if isinstance(said, str) else said

    def _truth(self, name: str) -> object:
        found = self._setting(name)
        return UNKNOWN if found is UNKNOWN else truth(found, True)

    def _levels_here(self) -> list[str]:
        """Return the levels with which MPI may be started if mpi4py reads its settings here."""
        threads, initialize, level = self._truth("threads"), self._truth("initialize"), self._setting("thread_level")
        found = []
        if initialize is UNKNOWN or initialize:
            if threads is UNKNOWN or threads:
                found.append(level if isinstance(level, str) and level in THREAD_LEVELS else THREAD_LEVELS[-1])
            if threads is UNKNOWN or not threads:
                found.append(MPI_INIT)
        if initialize is UNKNOWN or not initialize:
            found += self._by_hand or [THREAD_LEVELS[-1]]
        return found


def _changes_words(node: "Any") -> bool:
    """Tell whether ``sys.argv`` is not what it was behind a node, or may not be."""
    is_stored = is_a(getattr(node, "ctx", None), "Store", "Del")
    is_part = last_name(getattr(node, "value", None)) == "argv" and (is_stored or is_a(node, "Attribute"))
    return is_part or (is_stored and last_name(node) == "argv")


def _starts_mpi(node: "Any") -> bool:
    return is_a(node, "Call") and is_a(node.func, "Attribute") and node.func.attr in ("Init", "Init_thread")


def _level_of_call(call: "Any") -> str:
    """Return the level that a call of ``MPI.Init`` or ``MPI.Init_thread`` asks for; the highest where it is open."""
    if call.func.attr == "Init":
        return MPI_INIT
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    level = last_name(given[0]).removeprefix("THREAD_").lower() if given else ""
    return level if level in THREAD_LEVELS else THREAD_LEVELS[-1]
