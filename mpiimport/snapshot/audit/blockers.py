"""What a begin asked for that has no answer: at which statement, and why."""

import os
from collections.abc import Iterable
from typing import Any

from ..hooks import NEVER
from ..trials import PACKAGES
from . import key_variables, observations, registry
from .causes import Causes
from .comparison import Differences
from .observer import AFTER, ARGUMENTS, BEFORE, FORK, LOOKS, PROGRAM, SCRIPT, SEARCH, SITE, WHOLE, WORDS

# Statement -> why it can be in no snapshot.
Blockers = dict[int, str]
Found = Iterable[tuple[int, str]]
BY_EACH = f"; {NEVER} is imported by each process itself"
# What of a program follows from where it lies: then it has a snapshot of its own.
OF_PLACE = {PROGRAM, SEARCH}


class Observation:
    """``asked``: of the kernel and the C library; ``seen``: what observing.py has written; ``own``: directories of own
    code."""

    def __init__(self, asked: Causes, seen: dict[str, Any], own: Iterable[str]) -> None:
        self.asked = asked
        self.seen = seen
        self._own = tuple(os.path.join(directory, "") for directory in own)
        self._renewing = {module for module, _ in seen["renewed"]}
        # Modules that go through all variables.
        self.whole = {module for module, name, _ in seen["reads"] if name == WHOLE}

    def blockers(self, behind: int | None, compares_processors: bool, is_fresh: bool, is_bound: bool) -> Blockers:
        """Return what has no answer, whatever variation runs tell.

        ``behind``: the first statement behind an import of mpi4py that waits; ``compares_processors``: they tell what
        follows from processors; ``is_fresh``: no process may have the hash seeds of another process; ``is_bound``: the
        snapshot is for these arguments alone.
        """
        found: Blockers = {}
        by_causes = self.by_causes(compares_processors, is_fresh)
        # What a statement asks for says more than how it fails for want of an answer.
        for each in (
            by_causes,
            self._by_mpi(),
            self._by_reads(behind, is_bound),
            self._by_place(),
            self._by_failure(behind),
        ):
            for number, why in each:
                found.setdefault(number, why)
        return found

    def entropy(self, differing: Differences, is_fresh: bool) -> Blockers:
        """Return what is drawn for anything but seeds of hash tables, or of generators, which each start seeds anew."""
        return {
            self.asked.where[name, cause]: f"{named(name)} asks for {cause}"
            for (name, cause), times in self.asked.asked.items()
            if cause == observations.ENTROPY
            and not self._is_answered(name, cause, is_fresh)
            and times != len(differing.generators_of(name))
        }

    def goes_by_arguments(self) -> bool:
        """Tell whether modules look at the program's arguments."""
        return any(what == ARGUMENTS for _, what, _ in self._looks())

    def of_place(self) -> int | None:
        """Return the first statement that goes by where the program lies, or None."""
        return min((number for _, what, number in self._looks() if what in OF_PLACE), default=None)

    def variables(self) -> set[str]:
        """Return the variables that Python code has read, and whose values count."""
        reads, of_site = self.seen["reads"], self.seen["of_site"]
        found = {name for module, name, _ in reads if module not in self.whole or not key_variables.is_free(name)}
        # What installs mpiimport may ask whether it is switched on.
        found -= {name for module, name, _ in reads if module in of_site and name.startswith(key_variables.OURS)}
        return found - LOOKS - {WHOLE}

    def _is_answered(self, name: str, cause: str, is_fresh: bool) -> bool:
        if name in (FORK, "") or name.startswith(AFTER) or registry.answer(name, cause):
            return True
        if name in self._renewing and (AFTER + name, cause) in self.asked.asked:
            return True
        return not is_fresh and registry.are_seeds(name, cause, self.asked.draws.get(name, ()))

    def by_causes(self, compares_processors: bool, is_fresh: bool) -> Found:
        """Yield what was asked for and has no answer: see ``blockers``."""
        for (name, cause), number in self.asked.where.items():
            # What is drawn may be the seed of a generator: the differences tell.
            if cause == observations.ENTROPY or self._is_answered(name, cause, is_fresh):
                continue
            if cause in (observations.PROCESSORS, observations.CORES) and compares_processors:
                # Their number and their cores are in the key.
                continue
            if cause == observations.FORKS and name in self.asked.starting:
                # It ends its threads there, and makes them anew when they are used.
                continue
            yield number, f"{named(name)} asks for {cause}"

    def _by_mpi(self) -> Found:
        for name, number in self.seen["wants_mpi"].items():
            yield number, f"{named(name)} imports {NEVER}, which each process does itself"

    def _by_reads(self, behind: int | None, is_bound: bool) -> Found:
        for name, what, number in self._looks():
            if what == ARGUMENTS:
                # What the script makes of them is the begin of what it does. Before it, they are none of its own.
                if name == SCRIPT or number == BEFORE or not is_bound:
                    yield number, f"{named(name)} looks at {WORDS}"
                continue
            # What waits for each process is not there yet.
            lacks = what == PROGRAM and behind is not None and number >= behind
            if what not in OF_PLACE or lacks:
                yield number, f"{named(name)} looks at {what}"
        for name, what, number in self.seen["reads"]:
            if key_variables.is_free(what) and name not in self.whole and self.is_own(name):
                yield number, f"{named(name)} looks at the variable {what}, which differs between processes or jobs"

    def is_own(self, name: str) -> bool:
        """Tell whether a module is the program, or own code."""
        return name == SCRIPT or self.seen["sources"].get(name, "").startswith(self._own or "\0")

    def _looks(self) -> list[tuple[str, str, int]]:
        """Return what was looked at, and has no answer: (module, what, statement)."""
        return [
            (name, what, number)
            for name, what, number in self.seen["reads"]
            if what in LOOKS and name and not name.startswith(AFTER) and not registry.answer(name, what)
        ]

    def _by_place(self) -> Found:
        """What is looked for in the current directory and not there is in the key, if the name is free."""
        for name, beside in self.asked.beside.items():
            if name and any(map(os.path.lexists, beside)):
                yield self.asked.beside_at[name], f"{named(name)} asks for {observations.PLACE}"
        for (name, cause), number in self.asked.where.items():
            if cause == observations.CORES and self.seen["bound"]:
                yield number, f"{named(name)} binds the process to processors"

    def _by_failure(self, behind: int | None) -> Found:
        if self.seen["failure"] is not None:
            number, why = self.seen["failure"]
            lacks = "No module named 'mpiimport'" in why
            hint = f"; install mpiimport's wheel in this Python, or begin with PYTHONPATH={PACKAGES}"
            uses = behind is not None and number >= behind and "NameError: " in why
            yield number, f"{why}{hint if lacks else ''}{BY_EACH if uses else ''}"


def named(name: str) -> str:
    """Return what stands for a module, for a person."""
    return "it" if name == SCRIPT else "Python" if name in ("", SITE) else name
