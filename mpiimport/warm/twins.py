"""What differs between interpreters that import the same modules: four of them, beside the first in one way each.

| | addresses | processors | rank, directory, host, streams, signals |
| --- | --- | --- | --- |
| first | random | as given | as given |
| second | fixed | as given | as given |
| third | fixed | one | as given |
| fourth | fixed | another one | other |

Where a filter of system calls forbids fixed addresses, all of them are random. An order alone may follow from them:
that of a set of classes, as a rule, which is another one in each process plainly, too. It counts as a difference where
it may have been drawn: of some generators nobody sees that, and of the others it is a cause, see ``drawing.py``.
"""

import os
import re
import signal
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .graph import DRAWN, GENERATOR, OF_SETTINGS, ORDER, are_alike, blind
from .registry import FREE, OURS, SEEDED_ANEW, counts, is_free
from .trials import Trial, begin_child

State = dict[str, str]
# Signals that launchers and shells have processes ignore: nohup, and what runs behind.
OF_LAUNCHERS = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGUSR1, signal.SIGUSR2)
# Of these nobody knows what they have; and the code that packages of Cython share is of the first one.
UNKNOWN = {"<functools._lru_cache_wrapper>", "<_frozen_importlib.ModuleSpec>"}
CACHES = re.compile(
    r"\._cache\[\d+\]$|(^|[.'])_cyutility(:|$|')|^numpy\._core\.getlimits:iinfo\._m(ax|in)_vals"
    r"|^(typing:_cleanups|re:_cache2?|sys:path_importer_cache|linecache:cache)"
)
LAST = re.compile(r"(<\d+>|\.[^.<>\[\]{}]*|\[[^\]]*\]|\{[^}]*\})$")
NUMBERS = re.compile(r"-?(?:[0-9a-f]{4,}|\d+)")
# Parts of a path that are neither names nor places in a sequence.
KEYS = re.compile(r"\[\d*[^\]\d][^\]]*\]|\{[^}]*\}|<\d+>")
# So often an order is tried, with objects in other places of the memory.
PLACES = 4
# Stands for what is printed.
OUTPUT = ":output"
# Of all but the first.
AS_GIVEN = {"before": lambda: begin_child(fixed=True)}
ELEMENT = re.compile(r"(.*)\[\d+\]")


@dataclass
class Differences:
    """Paths, as graph.py writes them. ``own``: another value in each process, or with another rank or directory;
    ``drawn``: those of them with another value in each process that is told the same; ``values``: what the first twin
    has at each; ``second``: all that was seen of that twin; ``chance``: what differs from it in a process that is
    told the same, see ``_by_chance``.
    """

    own: set[str] = field(default_factory=set)
    drawn: set[str] = field(default_factory=set)
    values: State = field(default_factory=dict)
    second: dict[str, Any] = field(default_factory=dict)
    chance: set[str] = field(default_factory=set)

    def generators_of(self, name: str) -> list[tuple[str, str]]:
        """Return the generators of random numbers that a module names, (module, name), if the system gives their seeds.

        Those that follow from the rank have a seed that the program wants. What has drawn may have left it anywhere.
        """
        found = _generators(self.drawn, self.values)
        paths = (path.partition(":") for path, state in found.items() if not state.endswith(DRAWN))
        return [(module, key) for module, _, key in paths if module == name and is_dotted(key)]

    def holder_of(self, path: str) -> str:
        """Return the class of the object of which a path names a part: ``module.Class``, or nothing."""
        value = self.values.get(re.sub(r"(<\d+>|\.\w+)$", "", path), "")
        return value[1:-1] if value.startswith("<") and value.endswith(">") else ""


def of_another_order(plainly: dict[str, Any], begin: Callable[..., Trial], chance: set[str]) -> set[str]:
    """Return what differs where modules are imported in another order: paths, with a module's name at their begin.

    ``plainly``: what was seen of a twin that is told the same; ``begin`` begins one with the other order, and with
    objects in other places of the memory by a number; ``chance``: what differs in the same order, see ``_by_chance``.
    """
    seen = _seen(begin, {"places": 0})[0]
    found = _unlike_by_order(plainly["state"], seen["state"], chance)
    for places in range(1, PLACES):
        if found and all(map(_is_order, found)):
            # An order that is another one in other places is made by addresses, as that of a set.
            other = _seen(begin, {"places": places})[0]
            moved = {_sequence(path) for path in _unlike(seen["state"], other["state"]) if _is_order(path)}
            found = {path for path in found if _sequence(path) not in moved}
    found |= {f"{name}:" for name in {*plainly["failed"]} ^ {*seen["failed"]}}
    one, other = plainly["output"], seen["output"]
    is_alike = one.count(b"\n") == other.count(b"\n") if OUTPUT in chance else one == other
    return found if is_alike else found | {OUTPUT}


def _unlike_by_order(one: State, other: State, known: set[str]) -> set[str]:
    values: State = {**other, **one}
    return {
        path
        for path in _unlike(one, other)
        if not (known.intersection({*_by_chance(path, other), _elements(path)}) or _says_nothing(path))
        and not (_is_in(path, values, {one.get(path, "<"), other.get(path, "<")}) or counts(path))
    }


def _by_chance(path: str, state: State) -> set[str]:
    """Return what tells of a path that the value there is another one by chance: wholly, or by numbers in it."""
    return {_blurred(path), f"{_blurred(path)}={NUMBERS.sub('#', state.get(path, ''))}"}


def _elements(path: str) -> str:
    """Return what tells of the path of an element that the order of all of them is another one by chance."""
    return f"{_blurred(_sequence(path))}[*]"


def _sequence(path: str) -> str:
    """Return the path of what has an element, or an order."""
    match = ELEMENT.fullmatch(path)
    return match[1] if match else path


def _is_order(path: str) -> bool:
    """Tell whether what differs at a path may be an order alone, which addresses make where it is that of a set."""
    return path.endswith(ORDER) or ELEMENT.fullmatch(path) is not None


def _says_nothing(path: str) -> bool:
    """Tell whether at a path there is what others may have at will: a cache, or an order that nobody goes by."""
    if CACHES.search(path) or not path.endswith(ORDER):
        return CACHES.search(path) is not None
    return "cache" in path.lower() or path.partition(":")[0].partition(".")[0] in sys.stdlib_module_names


def _is_in(path: str, values: State, given: set[str]) -> bool:
    """Tell whether a path leads through an object of which nobody knows what it has.

    ``given``: what is at the path in either order. Where the first has a number or text in both, that was kept by it.
    """
    while values.get(path) not in UNKNOWN:
        match = LAST.search(path)
        if not match:
            return False
        path = path[: match.start()]
    return any(value.startswith(("<", "is ")) for value in given)


def _blurred(path: str) -> str:
    """Return a path without numbers, which may be other ones in another process."""
    return KEYS.sub(lambda match: NUMBERS.sub("#", match[0]), path)


def of_another_rank(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that another rank may have otherwise, each with another value, set or not."""
    names = {name for name in environment if is_free(name) and not name.startswith(OURS)}
    names |= {"SLURM_PROCID", *(pattern.replace("*", "PLANTED") for pattern in FREE)}
    return {**{name: environment.get(name, "") + "1" for name in names}, "TMPDIR": "/"}


def compare(begin: Callable[..., Trial], processors: list[int], environment: Mapping[str, str]) -> Differences:
    """Return how twins differ. ``begin`` begins one, changed by ``environment``, ``cwd``, ``host`` (its name),
    ``streams`` (its input is a pipe, its output a file) and ``before``, a function for the child; ``processors``: at
    most two that it may be bound to; ``environment``: that of the first. Raises Refused.
    """
    one, another = processors[0], processors[-1]
    other = {"environment": of_another_rank(environment), "cwd": "/", "host": "another-host", "streams": True}
    other["before"] = lambda: begin_child(fixed=True, processor=another, ignored=OF_LAUNCHERS)
    # Those that are compared do not begin at the same moment: some clocks count in seconds.
    first, third = _seen(begin, {}, {"before": lambda: begin_child(fixed=True, processor=one)})
    second, fourth = _seen(begin, AS_GIVEN, other)
    drawn = _unlike(first["state"], second["state"])
    # The causes tell whether settings are the process's own. Whatever makes something of an order differs itself.
    own = {path for path in _unlike(third["state"], fourth["state"]) | drawn if not path.startswith(OF_SETTINGS)}
    # An order by addresses is another one by other variables and imports, too.
    reordered = _reordered([each["state"] for each in (first, second, third, fourth)], own)
    chance = {_elements(path) for path in reordered} | {_blurred(path) for path in own if path.endswith(ORDER)}
    if first["output"] != second["output"]:
        chance.add(OUTPUT)
    for path in drawn:
        alike = _by_chance(path, first["state"]) & _by_chance(path, second["state"])
        # What has the same text but for numbers has it in another order as well, unless something else is told there.
        chance |= alike if len(alike) == 1 else alike - {_blurred(path)}
    own = {path for path in own if not path.endswith(ORDER)}
    if all(map(_is_watched, _generators(drawn, first["state"]).items())):
        own -= reordered
    # What differs between the second and the third alone follows from the number of processors, which is in the key.
    return Differences(own, own & drawn, first["state"], second, chance)


def _seen(begin: Callable[..., Trial], *changes: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what is seen of twins that import at the same time."""
    trials: list[Trial] = []
    try:
        trials += (begin(**each) for each in changes)
        return [trial.seen() for trial in trials]
    finally:
        for trial in trials:
            trial.end()


def _unlike(one: State, other: State) -> set[str]:
    return {path for path in {*one, *other} if not are_alike(one.get(path), other.get(path))}


def _generators(drawn: set[str], values: State) -> State:
    """Return the generators of random numbers which have another state in each process."""
    return {path: values[path] for path in drawn if values.get(path, "").startswith(GENERATOR)}


def _is_watched(generator: tuple[str, str]) -> bool:
    """Tell whether it is known who has drawn from a generator, of which the path and the state are given."""
    path, state = generator
    of_torch = state.startswith(f"{GENERATOR}torch._C ") and not state.endswith(DRAWN)
    return of_torch or path in SEEDED_ANEW or state.startswith(f"{GENERATOR}random ")


def _reordered(states: list[State], differing: set[str]) -> set[str]:
    """Return the elements of sequences that have the same elements everywhere, in another order."""
    groups: dict[str, set[str]] = {}
    for path in differing:
        match = ELEMENT.fullmatch(path)
        if match:
            groups.setdefault(match[1], set()).add(path)
    found = set()
    for paths in groups.values():
        elements = [Counter(blind(state.get(path, "")) for path in paths) for state in states]
        if all(each == elements[0] for each in elements):
            found |= paths
    return found


def is_dotted(key: str) -> bool:
    """Tell whether a path in a module is made of names alone."""
    return all(part.isidentifier() for part in key.split("."))


def two_processors() -> list[int]:
    """Return two processors that a child can be bound to, or all that there are."""
    mine = os.sched_getaffinity(0)
    found = sorted(mine)[:2]
    for number in range(os.cpu_count() or 1):
        if len(found) < 2 and number not in found:
            try:
                os.sched_setaffinity(0, {number})
            except OSError:
                continue
            found.append(number)
    os.sched_setaffinity(0, mine)
    return found
