"""How far a program's begin may be in a snapshot: up to the first statement with something that has no answer."""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ..memory_map import Refused
from ..restore.reinitialisers import SEEDED_ANEW, UNLESS_SET
from ..text.program_text import Piece, ProgramText
from ..trials import HERE, Ended, Trials
from . import causes, key_variables, observations, registry
from .blockers import Blockers, Observation
from .comparison import Differences, compare, two_processors
from .key_files import key_files
from .leftovers import is_leftover
from .observer import BEFORE, FORK, SCRIPT

# Seconds that a statement may take which is no import, where the user does not say that the begin ends behind it.
SECONDS = 20


@dataclass
class Verdict:
    """``piece``: what is executed; ``modules``: what is there then; ``later``: of others that the program's text
    leads to, the statement of each; ``variables``, ``files``: of the key; ``generators``: (module, name in it);
    ``settled``: paths of what the program has set, and no reinitialiser makes new; ``threads``: modules that start
    threads, and end them in a fork; ``looked_for``: top-level modules; ``whole``: whether they read all variables;
    ``cores``: whether they ask which processors are of one core; ``absent``: names that the current directory must not
    have, and files of devices' drivers; ``entries``: of the search path, which the script's directory must not be;
    ``relative``: directories that entries of it are by the current one, which is to be
    the same; ``has_arguments``: modules look at the arguments; ``signals``: those for which modules have said what is
    done; ``has_handlers``: own code has exit handlers.
    """

    piece: Piece
    modules: list[str]
    later: list[int] = field(default_factory=list)
    variables: set[str] = field(default_factory=set)
    files: set[tuple[str, int]] = field(default_factory=set)
    generators: list[tuple[str, str]] = field(default_factory=list)
    settled: list[str] = field(default_factory=list)
    threads: set[str] = field(default_factory=set)
    looked_for: list[str] = field(default_factory=list)
    whole: bool = False
    cores: bool = False
    absent: set[str] = field(default_factory=set)
    entries: list[str] = field(default_factory=list)
    relative: list[str] = field(default_factory=list)
    has_arguments: bool = False
    signals: set[int] = field(default_factory=set)
    has_handlers: bool = False


class Audit:
    """What one program does before a snapshot is made. ``words``: the interpreter and its options; ``directory``: for
    what is written."""

    def __init__(self, words: list[str], directory: Path, environment: dict[str, str], text: ProgramText) -> None:
        self._directory = directory
        self._text = text
        self._processors = two_processors()
        # Whether no process may have the hash seeds of another one.
        self._is_fresh = environment.get(key_variables.HASH_SEEDS) == "fresh"
        seed = environment.get("PYTHONHASHSEED", "")
        self._environment = {**environment, "PYTHONHASHSEED": "0" if seed in ("", "random") else seed}
        self._trials = Trials(words, directory, self._environment, text.own)
        # What is left of a begin when a statement is cut off was compared to find that statement.
        self._compared: tuple[tuple[Any, ...], str | None] | None = None
        self._found = Differences()

    def verdict(self, piece: Piece, is_bound: bool = False) -> Verdict:
        """Cut a begin before what has no answer, until all that is left has one. Raises Refused.

        ``is_bound``: it is for the arguments alone with which it is made, if modules look at them.
        """
        reached: dict[str, int] = {}
        bound_by: int | None = None
        while piece.steps:
            try:
                seen = self._observe(piece)
            except Ended as exc:
                piece = self._cut(piece, self._by_end(exc))
                continue
            bound_by = seen.of_place() if piece.is_shared else bound_by
            if piece.is_shared and bound_by is not None:
                piece = piece.bound()
                continue
            reached = {**seen.seen["begun"], **reached}
            differing = Differences()
            blockers = seen.blockers(piece.behind, len(self._processors) > 1, self._is_fresh, is_bound)
            # What looks behind an import that waits sees nothing where nothing is executed behind it.
            blockers = {number: why for number, why in blockers.items() if number < piece.steps}
            if not blockers:
                differing = self._compare(piece, seen.seen["relative"])
                blockers = self._by_fork(piece, seen.asked) | seen.entropy(differing, self._is_fresh)
                # What is left is compared again.
                blockers = blockers or self._by_differences(piece, differing, seen.seen)
            if not blockers:
                return self._verdict(piece, seen, differing, reached)
            piece = self._cut(piece, blockers)
            if bound_by is not None and piece.steps > bound_by:
                piece = piece.bound()
        raise Refused(f"no statement can be in a snapshot: {piece.places[0]}: {piece.reason}")

    def _by_end(self, end: Ended) -> Blockers:
        """Return what ended an interpreter below the recorder, and what it had asked for before."""
        asked = causes.read(self._trials.log)
        found = {asked.statement: asked.linked_with_mpi() or str(end) or f"it asks for {asked.stopped}"}
        if not asked.has_hooks:
            # Else a function of the program may answer that.
            early = Observation(asked, {"renewed": [], "reads": []}, self._text.own)
            found = {**dict(early.by_causes(len(self._processors) > 1, self._is_fresh)), **found}
        return found

    def _cut(self, piece: Piece, blockers: Blockers) -> Piece:
        first = min(blockers)
        if first == BEFORE:
            raise Refused(
                "what Python runs before each program (.pth files, sitecustomize, packages of -m) cannot be in a "
                f"snapshot: {blockers[first]}"
            )
        return self._text.shorter(piece, first, blockers[first])

    def _observe(self, piece: Piece) -> Observation:
        """Execute a begin below the recorder. Raises Ended."""
        seconds = 0 if self._text.is_asked else SECONDS
        seen = self._trials.causes(piece.begin, seconds, piece.behind, piece.is_shared)
        return Observation(causes.read(self._trials.log), seen, self._text.own)

    def _compare(self, piece: Piece, relative: Collection[str]) -> Differences:
        place = self._place(relative)
        if self._compared == (piece.begin, place):
            return self._found
        begin = partial(self._trials.begin, piece.begin)
        try:
            return compare(begin, self._processors, self._environment, place, piece.behind)
        except Ended as exc:
            return Differences(failure=str(exc))

    def _place(self, relative: Collection[str]) -> str | None:
        """Return the directory in which the last variation run begins, if not in that of the others."""
        # Own code that -m names is found by the current directory, and so is what relative entries have.
        return None if relative or (self._text.is_module and self._text.own) else "/"

    def _by_differences(self, piece: Piece, differing: Differences, seen: dict[str, Any]) -> Blockers:
        if differing.failure:
            return {self._first_where(piece, differing, seen, lambda each: bool(each.failure))[0]: differing.failure}
        found = self._unanswered(piece, differing, seen)
        # A module that the last statement has imported has no earlier state.
        last = piece.steps - 1
        earlier = [path for path in found if seen["begun"].get(path.partition(":")[0], BEFORE) < last]
        if not earlier:
            return {last: found[min(found)]} if found else {}
        where, then = self._first_where(piece, differing, seen, lambda each: not each.own.isdisjoint(earlier))
        return {where: found[min(path for path in earlier if path in then.own)]}

    def _unanswered(self, piece: Piece, differing: Differences, seen: dict[str, Any]) -> dict[str, str]:
        """Return the paths of differences without an answer, each with what it says of the statement."""
        renewed = {(module, name) for module, name in seen["renewed"]}
        found = {}
        for path in differing.own:
            name, _, key = path.partition(":")
            is_answered = registry.is_made_new(path, differing.holder_of(path)) or (name, first_name(key)) in renewed
            if is_answered or (name, key) in differing.generators_of(name):
                continue
            source = str(self._text.file) if name == SCRIPT else seen["sources"].get(name, "")
            if not (is_leftover(source, first_name(key)) and differing.is_chance(path)):
                between = "processes" if piece.behind is None else "processes, or by whether mpi4py is imported"
                found[path] = f"{key}{'' if name == SCRIPT else f' of {name}'} differs between {between}"
        for path in differing.own.intersection(SEEDED_ANEW) - differing.drawn:
            found[path] = f"it seeds the generator of {path.partition(':')[0]} by what is another in each process"
        return found

    def _first_where(
        self, piece: Piece, differing: Differences, seen: dict[str, Any], holds: Callable[[Differences], bool]
    ) -> tuple[int, Differences]:
        """Return the first statement behind which something holds of the differences, and these.

        ``differing``: those behind the last statement.
        """
        found = {piece.steps: differing}

        def holds_of(each: Piece) -> bool:
            found[each.steps] = self._compare(each, seen["relative"])
            return holds(found[each.steps])

        first = self._first_step(piece, holds_of)
        if first in found:
            self._compared = self._text.shorter(piece, first, "").begin, self._place(seen["relative"])
            self._found = found[first]
        return first, found[first + 1]

    def _first_step(self, piece: Piece, holds: Callable[[Piece], bool]) -> int:
        """Return the first statement behind which something holds of a begin, as it does of the whole."""
        low, high = 0, piece.steps - 1
        while low < high:
            middle = (low + high) // 2
            if holds(self._text.shorter(piece, middle + 1, "")):
                high = middle
            else:
                low = middle + 1
        return low

    def _by_fork(self, piece: Piece, asked: causes.Causes) -> Blockers:
        """A library that makes state anew in a forked process: starts are no forks."""
        wanted = sorted(cause for name, cause in asked.asked if name == FORK)
        if not wanted:
            return {}

        def asks(each: Piece) -> bool:
            self._trials.causes(each.begin)
            return any(name == FORK for name, _ in causes.read(self._trials.log).asked)

        return {self._first_step(piece, asks): f"a fork handler of a library asks for {', '.join(wanted)}"}

    def _verdict(self, piece: Piece, observed: Observation, differing: Differences, reached: dict[str, int]) -> Verdict:
        asked, seen = observed.asked, observed.seen
        later = [number for number in reached.values() if number > piece.steps]
        verdict = Verdict(piece, sorted({*seen["there"]} - {SCRIPT}), later)
        # At these there is the same in each process.
        verdict.settled = [path for path in UNLESS_SET if path in differing.values and path not in differing.drawn]
        names = sorted({path.partition(":")[0] for path in differing.drawn})
        drawn = [each for name in names for each in differing.generators_of(name)]
        verdict.generators = [each for each in drawn if ":".join(each) not in SEEDED_ANEW]
        verdict.threads, verdict.looked_for, verdict.entries = asked.starting, seen["looked_for"], seen["entries"]
        verdict.whole, verdict.signals = bool(observed.whole), asked.signals
        verdict.has_handlers, verdict.relative = seen["has_handlers"], seen["relative"]
        verdict.has_arguments = observed.goes_by_arguments()
        verdict.cores = any(cause == observations.CORES for _, cause in asked.asked)
        verdict.absent = asked.drivers.union(*(names for name, names in asked.beside.items() if name))
        verdict.variables = asked.variables | observed.variables() | set(key_variables.ALWAYS)
        ours = (str(self._directory), str(HERE))
        # Of the first entry of the search path, and of those that go by the current directory, where a job may write,
        # names are compared, if nobody has listed them but to import; of the program's file, the text.
        file = self._text.file
        first = (Path.cwd(),) if self._text.is_module else (file.parent, file.resolve().parent)
        of_jobs = {str(file), *map(str, first), *seen["relative"]}
        # A program that reads its own file sees all of it. Packages look there for the lines of their callers.
        is_read = any(map(observed.is_own, asked.readers.get(str(file), ())))
        compared = of_jobs - asked.measured - ({str(file)} if is_read else set())
        found = key_files(asked, compared)
        heads = {path for _, path, *_ in piece.begin[4]}
        verdict.files = {
            (path, how) for path, how in found if not path.startswith(ours) and path not in compared | heads
        }
        return verdict


def first_name(key: str) -> str:
    """Return the module's attribute with which a path begins."""
    return re.split(r"[^\w]", key, maxsplit=1)[0]
