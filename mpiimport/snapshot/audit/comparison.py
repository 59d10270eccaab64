"""What differs between interpreters that execute the same begin: four of them, beside the first in one way each.

| | addresses | processors | rank, directory, host, streams, signals |
| --- | --- | --- | --- |
| first | random | as given | as given |
| second | fixed | as given | as given |
| third | fixed | one | as given |
| fourth | fixed | another | other, and mpi4py stands in |

Where a filter of system calls forbids fixed addresses, all of them are random. An order alone may follow from them:
that of a set of classes, as a rule, which differs between plain processes, too. It counts as a difference where
it may have been drawn: of some generators nobody sees that, and of the others it is a cause, see ``drawing.py``.
"""

import os
import re
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..restore.reinitialisers import SEEDED_ANEW
from ..trials import Trial, begin_child
from .addresses import are_alike, blind
from .graph import DRAWN, GENERATOR
from .key_variables import FREE, OURS, is_free

State = dict[str, str]
# Signals that launchers and shells have processes ignore: nohup, and what runs behind.
OF_LAUNCHERS = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGUSR1, signal.SIGUSR2)
# Of all but the first.
# So often something is tried to be another value by chance, which may have few of them.
TRIES = 8
AS_GIVEN = {"before": lambda: begin_child(fixed=True)}
FOLLOWED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*|\[\d+\])*")
ELEMENT = re.compile(r"(.*)\[\d+\]")


@dataclass
class Differences:
    """Paths, as graph.py writes them. ``own``: another value in each process, or with another rank or directory;
    ``drawn``: those of them with another value in each process under equal conditions; ``values``: what the first run
    has at each; ``failure``: why one of them did not come to the end, or nothing; ``begin`` begins one more.
    """

    own: set[str] = field(default_factory=set)
    drawn: set[str] = field(default_factory=set)
    values: State = field(default_factory=dict)
    failure: str = ""
    begin: Callable[..., Trial] | None = None
    _others: list[State] = field(default_factory=list)

    def generators_of(self, name: str) -> list[tuple[str, str]]:
        """Return the generators of random numbers that a module names, (module, name), if the system gives their seeds.

        Those that follow from the rank have a seed that the program wants. What has drawn may have left it anywhere.
        """
        found = _generators(self.drawn, self.values)
        paths = (path.partition(":") for path, state in found.items() if not state.endswith(DRAWN))
        return [(module, key) for module, _, key in paths if module == name and can_be_followed(key)]

    def is_chance(self, path: str) -> bool:
        """Tell whether at a path there is another value in a process under equal conditions.

        What addresses make may be the same in some of them, so a few more have their objects in other places.
        """
        if path in self.drawn:
            return True
        for number in range(1, TRIES if self.begin else 0):
            if len(self._others) < number and self.begin:
                self._others += (each["state"] for each in _seen(self.begin, {"displaced": number}))
            if not are_alike(self.values.get(path), self._others[number - 1].get(path)):
                return True
        return False

    def holder_of(self, path: str) -> str:
        """Return the class of the object that has the part at a path: ``module.Class``, or nothing."""
        value = self.values.get(re.sub(r"(<\d+>|\.\w+)$", "", path), "")
        return value[1:-1] if value.startswith("<") and value.endswith(">") else ""


def of_another_rank(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that another rank may have otherwise, each with another value, set or not."""
    names = {name for name in environment if is_free(name) and not name.startswith(OURS)}
    names |= {"SLURM_PROCID", *(pattern.replace("*", "PLANTED") for pattern in FREE)}
    return {**{name: environment.get(name, "") + "1" for name in names}, "TMPDIR": "/"}


def compare(
    begin: Callable[..., Trial],
    processors: list[int],
    environment: Mapping[str, str],
    place: str | None,
    behind: int | None = None,
) -> Differences:
    """Return how variation runs differ. ``begin`` begins one, changed by ``environment``, ``cwd``, ``host`` (its name),
    ``streams`` (its input is a pipe, its output a file), ``behind``, ``displaced`` (see varying.py) and ``before``, a
    function for the child; ``processors``: at most two that it may be bound to; ``environment``: that of the first;
    ``place``: the fourth one's directory; ``behind``: the first statement behind an import of mpi4py that waits, for
    which something stands in the fourth. Raises Refused.
    """
    one, another = processors[0], processors[-1]
    other: dict[str, Any] = {
        "environment": of_another_rank(environment),
        "cwd": place,
        "host": "another-host",
        "streams": True,
        "behind": behind,
    }
    other["before"] = lambda: begin_child(fixed=True, processor=another, ignored=OF_LAUNCHERS)
    # Those that are compared do not begin at the same moment: some clocks count in seconds.
    first, third = _seen(begin, {}, {"before": lambda: begin_child(fixed=True, processor=one)})
    second, fourth = _seen(begin, AS_GIVEN, other)
    failure = next(filter(None, (each["failure"] for each in (first, second, third, fourth))), "")
    drawn = _unlike(first["state"], second["state"])
    # The causes tell whether settings are the process's own. Whatever makes something of an order differs itself.
    own = _unlike(third["state"], fourth["state"]) | drawn
    if all(map(_is_watched, _generators(drawn, first["state"]).items())):
        own -= _reordered([each["state"] for each in (first, second, third, fourth)], own)
    # What differs between the second and the third alone follows from the number of processors, which is in the key.
    return Differences(own, own & drawn, first["state"], failure, begin)


def _seen(begin: Callable[..., Trial], *changes: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what is seen of variation runs that import at the same time."""
    trials: list[Trial] = []
    try:
        trials += (begin(**each) for each in changes)
        return [trial.seen() for trial in trials]
    finally:
        for trial in trials:
            trial.end()


def _unlike(one: State, other: State) -> set[str]:
    differing = [path for path, value in one.items() if other.get(path) != value]
    differing += other.keys() - one.keys()
    return {path for path in differing if not are_alike(one.get(path), other.get(path))}


def _generators(drawn: set[str], values: State) -> State:
    """Return the generators of random numbers which have another state in each process."""
    return {path: values[path] for path in drawn if values.get(path, "").startswith(GENERATOR)}


def _is_watched(generator: tuple[str, str]) -> bool:
    """Tell whether it is known what has drawn from a generator, by its path and state."""
    path, state = generator
    untouched = state.startswith((f"{GENERATOR}torch._C ", f"{GENERATOR}numpy.random.")) and not state.endswith(DRAWN)
    return untouched or path in SEEDED_ANEW or state.startswith(f"{GENERATOR}random ")


def _reordered(states: list[State], differing: set[str]) -> set[str]:
    """Return the elements of sequences that have the same elements everywhere, in another order."""
    groups: dict[str, set[str]] = {}
    for path in differing:
        match = ELEMENT.fullmatch(path)
        if match:
            groups.setdefault(match[1], set()).add(path)
    found = set()
    for name, paths in groups.items():
        all_of_it = paths.union(*(_elements(name, state) for state in states))
        elements = [Counter(blind(state.get(path, "")) for path in all_of_it) for state in states]
        if all(each == elements[0] for each in elements):
            found |= paths
    return found


def _elements(name: str, state: State) -> Iterator[str]:
    """Yield the paths of a sequence's elements: of those, too, that are in the same place in two of its states."""
    number = 0
    while f"{name}[{number}]" in state:
        yield f"{name}[{number}]"
        number += 1


def can_be_followed(key: str) -> bool:
    """Tell whether a path in a module is made of names, and of positions in sequences: see ``reinitialisers.named``."""
    return FOLLOWED.fullmatch(key) is not None


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
