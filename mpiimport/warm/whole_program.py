"""All that a program imports, in its order: those that are left out may hand on what they are told."""

from collections.abc import Iterator, Mapping
from typing import Any

from . import hazards, registry
from .causes import Causes
from .key_files import key_files, stamp
from .order import NEEDS
from .witness import HANDLERS, HOST, LOOKS, WHOLE, WORDS

# What a process may be told otherwise than the twins, which have sampled what is another value in each process.
TOLD = {
    *(hazards.HOST, hazards.PLACE, hazards.LIMITS, hazards.TERMINAL, hazards.STREAMS, hazards.INPUT, hazards.MACHINE),
    *(hazards.PROCESSOR, hazards.IDENTITY, hazards.KERNEL, hazards.NETWORK, hazards.CHILD, hazards.SIGNALS),
    *(WORDS, HOST, HANDLERS),
}


class Program:
    """``names``: all modules that can be imported, in order; ``asked``, ``seen``: what they asked for, with nothing
    left out; ``plainly``: what was seen of a process that has imported them."""

    def __init__(self, names: list[str], asked: Causes, seen: dict[str, Any], plainly: dict[str, Any]) -> None:
        self.names = names
        self.asked = asked
        self.plainly = plainly
        self._of_c = {*seen["of_c"]}
        # How many had begun before each.
        self._order = {name: number for number, name in reversed([*enumerate(asked.order)])}
        self._is_bound = bool(seen["bound"])
        self._reads: set[tuple[str, str]] = {(name, read) for name, read in seen["reads"] if name}
        self._files = {file: stamp(*file) for file in key_files(asked) if file[0] in asked.of_modules}

    def begins_with(self, modules: list[str]) -> bool:
        """Tell whether these are imported before all others, plainly too."""
        return modules == self.names[: len(modules)]

    def behind_steering(self, left_out: Mapping[str, str], modules: list[str]) -> dict[str, str]:
        """Return modules that come behind one that is left out and may have something done by what it is told.

        It may set anything by that, and what comes behind it may go by this: a setting, a variable, another module. One
        of C hands it on by its own names, if at all. So are those that look where one that is left out has written.
        """
        begun = [*self._told(), *self.asked.setting.items()]
        since = min(
            ((number, name) for name, number in begun if name in left_out and name not in self._of_c), default=None
        )
        handed = sorted(self.asked.handed)
        found = {name: f"{NEEDS}{by}" for by, name in handed if by in left_out and name in modules}
        if since is not None:
            behind = [name for name in modules if self._order.get(name, -1) >= since[0]]
            found |= dict.fromkeys(behind, f"{NEEDS}to come behind {since[1]}")
        return found

    def _told(self) -> Iterator[tuple[str, int]]:
        """Yield modules, and how many had begun when each was told something, or bound the process to processors.

        What C reads of variables and processors nobody sees, so nor what becomes of it in another order.
        """
        reads = {read: self._order.get(read[0], 0) for read in self._reads}
        for (name, cause), number in {**self.asked.since, **reads}.items():
            kept = registry.answer(name, cause) or (name, cause) in registry.KEPT
            if (cause in TOLD and not kept) or (cause == hazards.CORES and self._is_bound):
                yield name, number

    def variables(self) -> set[str]:
        """Return the variables that any of them has read, but those that twins have otherwise: see of_another_rank."""
        read = self.asked.variables | {read for _, read in self._reads} - LOOKS - {WHOLE}
        return {name for name in read if not registry.is_free(name) and name != "TMPDIR"}

    def looks_at_all_variables(self) -> bool:
        """Tell whether one of them does."""
        return any(read == WHOLE for _, read in self._reads)

    def files(self) -> set[tuple[str, int]]:
        """Return the files that they have looked at, and that have not changed since: who writes one, does so again."""
        return {file for file, seen in self._files.items() if stamp(*file) == seen}
