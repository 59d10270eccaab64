"""Which modules may be in an image: those of which every cause and every difference has an answer."""

import functools
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import causes, hazards, registry
from .graph import ORDER
from .key_files import key_files
from .memory_map import Refused
from .order import NEEDS, Order, with_users
from .trials import HERE, PACKAGES, Trials
from .twins import AS_GIVEN, Differences, compare, of_another_order, two_processors
from .whole_program import Program
from .witness import AFTER, FORK, LOOKS, NEVER, SCRIPT, SITE, WHOLE

# Variables with directories where a program, and what it imports, are searched for.
SEARCHED = ("PATH", "LD_LIBRARY_PATH")
# A tree that never comes to rest has no image.
ROUNDS = 12
# So often modules are left out one by one for the order; then all that come behind the first that is left out.
ATTEMPTS = 3


@dataclass
class Verdict:
    """``modules``: what is in the image; ``left_out``: module -> why; ``variables``, ``files``: of the key;
    ``tree``: the directories where programs are searched for, for which a session vouches; ``of_modules``: paths for
    which modules have asked;
    ``generators``: (module, name in it); ``threads``: modules that start threads, and end them in a fork;
    ``looked_for``: top-level modules; ``whole``: whether they look at all variables; ``cores``: whether they ask which
    processors are of one core; ``absent``: names that the current directory must not have, and files of devices'
    drivers; ``entries``: of the search path, which the script's directory must not be; ``signals``:
    those of which modules have said what is done.
    """

    modules: list[str]
    left_out: dict[str, str] = field(default_factory=dict)
    variables: set[str] = field(default_factory=set)
    files: set[tuple[str, int]] = field(default_factory=set)
    tree: set[str] = field(default_factory=set)
    of_modules: set[str] = field(default_factory=set)
    generators: list[tuple[str, str]] = field(default_factory=list)
    threads: set[str] = field(default_factory=set)
    looked_for: list[str] = field(default_factory=list)
    whole: bool = False
    cores: bool = False
    absent: set[str] = field(default_factory=set)
    entries: list[str] = field(default_factory=list)
    signals: set[int] = field(default_factory=set)

    def reasons(self) -> dict[str, str]:
        """Return why modules are left out, less those that need one of these."""
        return {name: why for name, why in sorted(self.left_out.items()) if not why.startswith(NEEDS)}


class Audit:
    """What one program does before its image is made. ``words``: the interpreter and its options; ``directory``: for
    what is written; ``script``: what ScriptBegin takes, where the image holds what the script does, or nothing."""

    def __init__(
        self, words: list[str], directory: Path, environment: dict[str, str], script: tuple[Any, ...] = ()
    ) -> None:
        self._script = script
        self._directory = directory
        self._processors = two_processors()
        self._moving: set[str] = set()
        self._program: Program | None = None
        # What differs between processes that import the same, and are told the same.
        self._chance: set[str] = set()
        self._attempts = 0
        self._environment = {**environment, "PYTHONHASHSEED": environment.get("PYTHONHASHSEED", "0")}
        self._trials = Trials(words, directory, self._environment, script)

    def verdict(self, names: list[str]) -> Verdict:
        """Leave out what has no answer, and what needs it, until all that is left has one. Raises Refused."""
        mpi = [name for name in names if name.partition(".")[0] == NEVER]
        # They may look whether it is there, as it is plainly.
        behind_mpi = set(names[names.index(mpi[0]) :] if mpi else []).difference(mpi)
        verdict = Verdict([name for name in names if name not in mpi], dict.fromkeys(mpi, "it belongs to MPI"))
        for _ in range(ROUNDS):
            seen, failure = self._try_to_import(verdict.modules, behind_mpi)
            asked = causes.read(self._trials.log)
            self._moving.update(seen.get("moving", ()))
            linked = {name for name, cause in asked.asked if cause == hazards.MPI and not name.startswith(AFTER)}
            if linked:
                # MPI's library asks for much more by itself. Who starts MPI may end there, or wait for a launcher.
                self._leave_out(verdict, dict.fromkeys(linked, f"it asks for {hazards.MPI}"), asked.edges)
                continue
            if failure:
                raise Refused(failure)
            # What is tried and not there: whoever tries it goes on without.
            verdict.modules = [name for name in verdict.modules if name not in seen["failed"]]
            if seen["failure"]:
                raise Refused(f"the script does not come to at_image(): {seen['failure']}{_advice(seen['failure'])}")
            begin = functools.partial(self._trials.begin, verdict.modules)
            differing = compare(begin, self._processors, self._environment)
            self._chance |= differing.chance
            self._program = self._program or Program(verdict.modules, asked, seen, differing.second)
            refuse_deliberate_seeds(set(seen["there"]), differing.drawn)
            renewed = set(seen["renewed"])
            refused = self._by_causes(asked, differing, {module for module, _ in renewed})
            refused |= dict.fromkeys(seen["mentions"], f"it mentions {NEVER}")
            refused |= self._by_name(seen) | self._by_reads(seen) | self._by_place(asked, seen)
            refuse_for_site(refused, {SITE, *seen["of_site"]} - {SCRIPT})
            # What these import may differ by what they have set in it: once they are left out, it is looked at again.
            used = set() if self._script else used_by(set(refused), seen["edges"])
            differ = self._by_differences(differing, verdict, renewed)
            refused = {name: why for name, why in differ.items() if name not in used} | refused
            if not refused:
                refused = self._by_order(verdict, seen["edges"])
            if not refused:
                refuse_fork_handlers(asked)
                self._fill(verdict, asked, seen)
                return verdict
            self._leave_out(verdict, refused, seen["edges"])
        raise Refused("imports differ from one process to the next")

    def _try_to_import(self, modules: list[str], behind_mpi: set[str]) -> tuple[dict[str, Any], str]:
        """Import modules, and see what they ask for. Return why that failed, or nothing, behind what was seen."""
        try:
            return self._trials.causes(modules, behind_mpi.intersection(modules)), ""
        except Refused as exc:
            return {}, str(exc)

    def _by_name(self, seen: dict[str, Any]) -> dict[str, str]:
        return {importer: f"{NEEDS}{NEVER}" for importer, name in seen["edges"] if name == NEVER and importer}

    def _by_reads(self, seen: dict[str, Any]) -> dict[str, str]:
        reads = [(name, read) for name, read in seen["reads"] if read in LOOKS and name and not name.startswith(AFTER)]
        return {name: f"it looks at {what}" for name, what in reads if not registry.answer(name, what)}

    def _by_place(self, asked: causes.Causes, seen: dict[str, Any]) -> dict[str, str]:
        """What is looked for in the current directory and not there is in the key, if the name is free."""
        taken = [(name, beside) for name, beside in asked.beside.items() if any(map(os.path.lexists, beside))]
        refused = {name: f"it asks for {hazards.PLACE}" for name, _ in taken if name}
        bound = [name for name, cause in asked.asked if cause == hazards.CORES and seen["bound"]]
        return refused | dict.fromkeys(bound, "it binds the process to processors")

    def _by_order(self, verdict: Verdict, edges: Iterable[tuple[str, str]]) -> dict[str, str]:
        """What may not be imported before those that are left out: a start does so.

        Either comes out otherwise then, or has another one come out so, whatever was set in the interpreter included.
        """
        program = self._program
        if program is None or program.begins_with(verdict.modules):
            return {}
        steered = program.behind_steering(verdict.left_out, verdict.modules)
        if steered:
            return steered
        names, plainly = program.names, program.plainly
        order = {**AS_GIVEN, "order": plainly["there"]}
        begin = functools.partial(self._trials.begin, [*verdict.modules, *names], **order)
        differing = of_another_order(plainly, begin, self._chance)
        if not differing:
            return {}
        self._attempts += 1
        ways = Order(names, verdict.modules, verdict.left_out, edges)
        if self._attempts > ATTEMPTS:
            return ways.behind_first()
        registered = [plainly["state"].get(path, "").split()[1:] for path in differing if path.endswith(ORDER)]
        return ways.refused(differing, registered, self._moving)

    def _by_causes(self, asked: causes.Causes, differing: Differences, renewing: set[str]) -> dict[str, str]:
        """``renewing``: modules whose after_start renews something: what it asks for again is answered."""
        refused = {}
        for (name, cause), times in asked.asked.items():
            if name.startswith(AFTER) or (name in renewing and (AFTER + name, cause) in asked.asked):
                continue
            if cause in (hazards.PROCESSORS, hazards.CORES) and len(self._processors) > 1:
                # Their number and their cores are in the key. That twins on one processor and on another are alike says
                # the rest.
                continue
            if cause == hazards.FORKS and name in asked.starting:
                # It ends its threads there, and makes them anew when they are used.
                continue
            made_new = cause == hazards.ENTROPY and times == len(differing.generators_of(name))
            if not made_new and not registry.answer(name, cause):
                refused[name] = f"it asks for {cause}"
        return refused

    def _by_differences(
        self, differing: Differences, verdict: Verdict, renewed: set[tuple[str, str]]
    ) -> dict[str, str]:
        refused = {}
        for path in sorted(differing.own):
            name, _, key = path.partition(":")
            if registry.is_made_new(path, differing.holder_of(path)) or (name, first_name(key)) in renewed:
                continue
            if (name, key) in differing.generators_of(name):
                if (name, key) not in verdict.generators:
                    verdict.generators.append((name, key))
            else:
                refused[name] = f"{key} differs between processes"
        return refused

    def _leave_out(self, verdict: Verdict, refused: dict[str, str], edges: Iterable[tuple[str, str]]) -> None:
        """Take modules away, those that import them, and those in them. What a script has done, nobody takes away."""
        if self._script:
            said = (f"{'the script' if name == SCRIPT else name}: {why}" for name, why in sorted(refused.items()))
            raise Refused(f"before at_image() there is what an image cannot hold: {'; '.join(said)}")
        known = len(verdict.left_out)
        verdict.generators = []
        verdict.left_out.update(with_users(refused, verdict.modules, verdict.left_out, edges))
        for name in sorted(self._moving.intersection(verdict.left_out)):
            # What is imported behind it may be another module where it was executed.
            raise Refused(f"{name} changes how modules are found, and is in no image: {verdict.left_out[name]}")
        verdict.modules = [name for name in verdict.modules if name not in verdict.left_out]
        # What fails without MPI is no longer among the modules.
        if len(verdict.left_out) == known:
            raise Refused("; ".join(f"{name}: {why}" for name, why in sorted(refused.items())))

    def _fill(self, verdict: Verdict, asked: causes.Causes, seen: dict[str, Any]) -> None:
        # Who goes through all of them reads each.
        whole = {module for module, name in seen["reads"] if name == WHOLE}
        reads = {name for module, name in seen["reads"] if module not in whole or not registry.is_free(name)}
        # What installs mpiimport may ask whether it is switched on.
        reads -= {
            name for module, name in seen["reads"] if module in seen["of_site"] and name.startswith(registry.OURS)
        }
        verdict.threads, verdict.looked_for, verdict.entries = asked.starting, seen["looked_for"], seen["entries"]
        verdict.whole = bool(whole)
        verdict.signals = asked.signals
        verdict.cores = any(cause == hazards.CORES for _, cause in asked.asked)
        verdict.absent = asked.drivers.union(*(names for name, names in asked.beside.items() if name))
        verdict.variables = asked.variables | (reads - LOOKS - {WHOLE}) | set(registry.ALWAYS)
        ours = (str(self._directory), str(HERE))
        # Of a script's directory, where a job may write, names are compared; of the script, the text.
        script = Path(self._script[0]) if self._script else None
        compared = {str(script), str(script.parent), str(script.resolve().parent)} if script else set()
        found = key_files(asked, compared)
        verdict.files = {(path, how) for path, how in found if not path.startswith(ours) and path not in compared}
        verdict.of_modules = asked.of_modules
        if self._program and not self._program.begins_with(verdict.modules):
            verdict.variables |= self._program.variables()
            verdict.whole = verdict.whole or self._program.looks_at_all_variables()
            verdict.files |= {(path, how) for path, how in self._program.files() if not path.startswith(ours)}
            verdict.of_modules |= self._program.asked.of_modules
        variables = (self._environment.get(name, "") for name in SEARCHED)
        verdict.tree = {*seen["tree"], *(entry for variable in variables for entry in variable.split(os.pathsep))}
        verdict.tree -= compared
        if script:
            verdict.modules = sorted(set(seen["there"]) - {SCRIPT})


def _advice(failure: str) -> str:
    """Return what to do where a script lacks the module that it says at_image() by."""
    lacks = "No module named 'mpiimport'" in failure
    return f"; install mpiimport's wheel in this Python, or begin with PYTHONPATH={PACKAGES}" if lacks else ""


def used_by(names: set[str], edges: Iterable[tuple[str, str]]) -> set[str]:
    """Return what modules import, and what that imports in turn. ``edges``: (importer, imported)."""
    pairs, found, new = set(edges), set[str](), set(names)
    while new:
        new = {imported for importer, imported in pairs if importer in new} - found
        found |= new
    return found


def first_name(key: str) -> str:
    """Return the module's attribute with which a path begins."""
    return re.split(r"[^\w]", key, maxsplit=1)[0]


def refuse_for_site(refused: Mapping[str, str], modules: set[str]) -> None:
    """Raise Refused where what Python runs before a program asks for what has no answer: no process leaves that out.

    ``refused``: module -> why; ``modules``: those that are there then.
    """
    why = "; ".join(f"{name}: {refused[name]}" for name in sorted(modules.intersection(refused)))
    if why:
        raise Refused(f"what Python runs before each program (.pth files, sitecustomize) cannot be in an image: {why}")


def refuse_fork_handlers(asked: causes.Causes) -> None:
    """Raise Refused where a library makes state anew in a forked process, for starts are no forks."""
    wanted = sorted(cause for name, cause in asked.asked if name == FORK)
    if wanted:
        raise Refused(f"a fork handler of a library asks for {', '.join(wanted)}")


def refuse_deliberate_seeds(modules: set[str], differing: set[str]) -> None:
    """Raise Refused where an import has seeded a generator that each start seeds anew: plainly the seed stays."""
    for path in registry.SEEDED_ANEW:
        name = path.partition(":")[0]
        if name in modules and path not in differing:
            raise Refused(f"an import has seeded the generator of {name}")
