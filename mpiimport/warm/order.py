"""Which modules may not be imported before those that are left out, where that makes a difference."""

import sys
from collections.abc import Collection, Iterable, Mapping

NEEDS = "it needs "
Edges = Iterable[tuple[str, str]]


class Order:
    """``names``: all modules, in the program's order; ``modules``: those of the image, in the same order; ``left_out``:
    the others, and more, with why; ``edges``: (importer, imported).
    """

    def __init__(self, names: list[str], modules: list[str], left_out: Mapping[str, str], edges: Edges) -> None:
        self._place = {name: number for number, name in enumerate(names)}
        self._modules = modules
        self._left_out = left_out
        self._edges = [*edges]
        self._others = [name for name in names if name not in {*modules}]

    def refused(self, differing: Iterable[str], registered: Iterable[list[str]], moving: set[str]) -> dict[str, str]:
        """Return what to leave out next, with why: the way that takes away less.

        ``differing``: paths, with a module's name at their begin; ``registered``: modules in the order in which they
        have put something somewhere; ``moving``: modules that must not go.
        """
        owners = {path.partition(":")[0] for path in differing}
        causing = {name for name in self._others if not self._left_out.get(name, NEEDS).startswith(NEEDS)}
        first = min(owners.intersection(self._others) or causing, key=self._place.__getitem__, default=self._others[0])
        start = self._place[self._others[0]]
        others = {name for name in owners.intersection(self._modules) if self._place[name] > start}
        ways = [dict.fromkeys(others, f"it is another one without {first}"), self._behind(first), self.behind_first()]
        ways.append({name: why for modules in registered for name, why in self._registered_behind(modules).items()})
        return min(filter(None, ways), key=lambda way: self._cost(way, moving))

    def behind_first(self) -> dict[str, str]:
        """Return all that come behind the first that is left out. Without them the order is the program's."""
        return self._behind(self._others[0])

    def _behind(self, name: str) -> dict[str, str]:
        behind = [each for each in self._modules if self._place[each] > self._place[name]]
        return dict.fromkeys(behind, f"{NEEDS}to come behind {name}")

    def _registered_behind(self, modules: list[str]) -> dict[str, str]:
        """Return the modules of the image that come behind the first of them that is left out."""
        first = next((number for number, name in enumerate(modules) if name in self._others), len(modules))
        behind = set(modules[first:]).intersection(self._modules)
        return dict.fromkeys(behind, f"{NEEDS}to come behind {modules[first]}") if behind else {}

    def _cost(self, way: dict[str, str], moving: set[str]) -> int:
        going = with_users(way, self._modules, self._left_out, self._edges)
        return len(going) if moving.isdisjoint(going) else sys.maxsize


def with_users(
    refused: Mapping[str, str], modules: Collection[str], left_out: Mapping[str, str], edges: Edges
) -> dict[str, str]:
    """Return modules that go, those that import them, and those in them, with why."""
    users: dict[str, set[str]] = {}
    for importer, imported in edges:
        users.setdefault(imported, set()).add(importer)
    found, waiting = dict[str, str](), dict(refused)
    while waiting:
        name, why = waiting.popitem()
        if not name or name in left_out or name in found:
            continue
        found[name] = why
        inside = {other for other in modules if other.startswith(name + ".")}
        for user in users.get(name, set()) | inside:
            waiting.setdefault(user, f"{NEEDS}{name}")
    return found
