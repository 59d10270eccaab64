"""What modules asked the kernel for while they were imported, from what restorer/recorder.c wrote."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from .observations import (
    BEARS_FORKS,
    CHANGED,
    CHILD,
    DRIVER_LIBRARIES,
    ENTROPY,
    FILES,
    FORKS,
    LOOKS,
    MEMORY,
    MPI,
    NOFOLLOW,
    NOFOLLOW_IN,
    NUMBER_OF_STREAMS,
    OF_LINKS,
    OF_PROCESS,
    OPENS,
    PLACE,
    THREAD,
    TIME,
    Call,
    is_in_key,
    is_look_at_stream,
    library_name,
    observation_of,
)
from .observer import BEFORE, FORK, MARK, OWN

# What threads that end in a fork give back, which the writer looks at once more; and the fork itself.
OF_ANY_FORK = {MEMORY, CHILD}
CLONES, CLONE_THREAD = ("clone", "clone3"), 0x10000
# What the preloaded library saw: see restorer/variables.c.
ASKS = {"entropy": ENTROPY, "time": TIME}
COUNTS = f"{MARK}counts/processors"
# Stands for size and flags where something was drawn without getrandom(2).
OTHERWISE = (0, 0)
# prctl(2), PR_SET_NAME
NAMES_THREAD = 15
# INVALID: of readlink(2), where there is no link.
NO_FILE, IS_THERE, NO_DIRECTORY, INVALID = -2, -17, -20, -22
NOT_THERE = (NO_FILE, NO_DIRECTORY)
# Names begin in the current directory: where calls take no other, and where openat(2) and its kin are told so.
WITHOUT_DIRECTORY = {"open", "stat", "lstat", "access", "readlink"}
AT_FDCWD = {-100, (1 << 32) - 100}
# Names that imports look for in the current directory, of which each start looks whether they are there now.
MOST_BESIDE = 16
HOOKS = "mpiimport.snapshot.hooks"


@dataclass
class Causes:
    """``asked``: (module, observation) -> how often; ``before``: of what no module asks, as the interpreter's start,
    observation -> how often; ``opened``: files and directories that were read, and ``readers`` of each;
    ``files``: path -> was it there; ``links``: paths that were asked for as links; ``measured``: directories where
    more was asked than whether they are there; ``refused``: paths for which a question was answered by another error
    than that nothing is there; ``of_modules``: paths for which a module asked,
    and not the interpreter for itself or to find the first of them; ``variables``: those that C read;
    ``starting``: modules that started threads;
    ``where``: (module, observation) -> the first statement of the program at which it was asked, -1 before the first;
    ``statement``: the last one that was begun; ``stopped``: what it asked for that the recorder did not let through;
    ``beside``: module -> names of the current directory that it looked for in vain; ``beside_at``: at which statement;
    ``drivers``: files that the drivers of devices make, which were not there;
    ``signals``: those for which modules have said what is done; ``draws``: module -> size and flags of each
    getrandom(2) that is entropy, and zeros for what was drawn otherwise; ``has_hooks``: the program may say what is
    done before a snapshot and after a start."""

    asked: dict[tuple[str, str], int] = field(default_factory=dict)
    before: dict[str, int] = field(default_factory=dict)
    opened: set[str] = field(default_factory=set)
    readers: dict[str, set[str]] = field(default_factory=dict)
    files: dict[str, bool] = field(default_factory=dict)
    links: set[str] = field(default_factory=set)
    measured: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    variables: set[str] = field(default_factory=set)
    starting: set[str] = field(default_factory=set)
    where: dict[tuple[str, str], int] = field(default_factory=dict)
    statement: int = BEFORE
    stopped: str = ""
    beside: dict[str, set[str]] = field(default_factory=dict)
    beside_at: dict[str, int] = field(default_factory=dict)
    drivers: set[str] = field(default_factory=set)
    signals: set[int] = field(default_factory=set)
    draws: dict[str, list[tuple[int, ...]]] = field(default_factory=dict)
    has_hooks: bool = False

    def linked_with_mpi(self) -> str:
        """Return what has loaded MPI's library at the last statement, in words; nothing where there was none."""
        names = [name for (name, cause), at in self.where.items() if cause == MPI and at == self.statement]
        return f"{names[0]} asks for {MPI}" if names else ""


def read(log: Path) -> Causes:
    """Read the log of an audit."""
    return _Reading(log).found


class _Reading:
    """Who asks is the module that is being executed, or that started the thread which asks."""

    def __init__(self, log: Path) -> None:
        self.found = Causes()
        self._stack = [""]
        self._owners: dict[int, str] = {}
        # With the statement at which each began.
        self._threads: dict[int, tuple[str, int]] = {}
        self._first, is_stopped = 0, False
        for call in _without_units(_without_ages(_calls(log))):
            self._first = self._first or call.thread
            if call.path.startswith(f"/proc/{self._first}/"):
                # As libffi names its own.
                call = replace(call, path=call.path.replace(str(self._first), "self", 1))
            if call.name == "guarded":
                is_stopped = True
            elif is_stopped:
                self.found.stopped = observation_of(call) or FILES
            if call.path.startswith(MARK):
                self._take_mark(*call.path.removeprefix(MARK).partition("/")[::2])
            else:
                self._take(call)

    def _take_mark(self, kind: str, name: str) -> None:
        if kind == "getenv":
            # The interpreter looks for itself by PATH if it was called without a directory, which it is not here.
            if name != "PATH" or self._stack[-1]:
                self.found.variables.add(name)
        elif kind == "sets":
            self.found.variables.add(name)
            if not self._stack[-1]:
                self._charge("", CHANGED)
        elif kind == "measures":
            self.found.measured.add(name)
        elif kind == "asks":
            self._charge(self._stack[-1], ASKS[name])
        elif kind == "registers":
            if not BEARS_FORKS.match(name):
                self._charge(self._stack[-1], FORKS)
        elif kind == "statement":
            self.found.statement = int(name)
        elif kind == "begin":
            self._stack.append(name)
            self.found.has_hooks |= name == HOOKS and self.found.statement > BEFORE
        elif kind == "end":
            self._stack.pop()

    def _take(self, call: Call) -> None:
        if self._stack[-1] == OWN:
            return
        owner = self._owners.get(call.thread)
        if call.thread == self._first or (owner is None and self._stack[-1] == FORK):
            owner = self._stack[-1]
        elif owner is None or call.name == "rdtsc":
            # A child of a module; or a thread that waits for work, as those of OpenBLAS do.
            return
        if call.name in CLONES:
            self._take_clone(call, owner)
        elif call.name == "exit":
            self._threads.pop(call.thread, None)
        if call.path:
            _note_file(self.found, call)
            if call.path in self.found.opened:
                self.found.readers.setdefault(call.path, set()).add(owner)
        if call.name == "rt_sigaction" and call.arguments[1] and owner:
            self.found.signals.add(call.arguments[0])
        observation = observation_of(call)
        if call.name == "prctl" and call.arguments[0] == NAMES_THREAD and call.thread != self._first:
            # The name goes with the thread.
            observation = ""
        if call.path and call.result == NO_FILE:
            observation = self._take_absent(call, owner, observation)
        if observation and not (self._stack[-1] == FORK and observation in OF_ANY_FORK):
            self._charge(owner, observation, call)

    def _take_clone(self, call: Call, owner: str) -> None:
        """Note a thread; in a fork, which of them no handler has ended before, for an image has one thread."""
        if call.arguments[0] & CLONE_THREAD:
            self.found.starting.add(owner)
            self._owners[call.result] = owner
            self._threads[call.result] = owner, self.found.statement
        elif owner != FORK:
            self._charge(owner, CHILD)
        elif call.result > 0:
            for each, statement in self._threads.values():
                self.found.where.setdefault((each, THREAD), statement)
                self._charge(each, THREAD)

    def _take_absent(self, call: Call, owner: str, observation: str) -> str:
        """Note what was looked for and is not there; return the observation that is left."""
        device = DRIVER_LIBRARIES.get(library_name(call.path))
        if device:
            self.found.drivers.add(device)
        first = call.path.partition("/")[0]
        given = call.name in WITHOUT_DIRECTORY or call.arguments[0] in AT_FDCWD
        if not owner or observation != PLACE or not given or first in (".", ".."):
            return observation
        if len({first}.union(*self.found.beside.values())) > MOST_BESIDE:
            return observation
        self.found.beside.setdefault(owner, set()).add(first)
        self.found.beside_at.setdefault(owner, self.found.statement)
        return ""

    def _charge(self, owner: str, observation: str, call: "Call | None" = None) -> None:
        if observation == ENTROPY:
            drawn = call.arguments[1:3] if call and call.name == "getrandom" else OTHERWISE
            self.found.draws.setdefault(owner, []).append(drawn)
        if owner:
            self.found.asked[owner, observation] = self.found.asked.get((owner, observation), 0) + 1
            self.found.where.setdefault((owner, observation), self.found.statement)
        else:
            self.found.before[observation] = self.found.before.get(observation, 0) + 1


def _calls(log: Path) -> Iterator[Call]:
    # A path may have any other sign that ends lines.
    with log.open(encoding="utf-8", errors="surrogateescape", newline="\n") as stream:
        for line in stream:
            if not line.endswith("\n"):
                # The recorder was killed before it had written the rest.
                return
            thread, name, result, *numbers, path = line[:-1].split(" ", 7)
            if name in ("mkdir", "mkdirat") and result == str(IS_THERE):
                # It changes nothing, and tells that something has this name.
                name, result = "lstat", "0"
            yield Call(int(thread), name, int(result), tuple(map(int, numbers)), path)


def _without_ages(calls: Iterable[Call]) -> Iterator[Call]:
    """Leave out the question for the time with which a C library begins to count processors.

    It only decides whether they are counted anew. How many there are is in the key.
    """
    counting = set[int]()
    for call in calls:
        if call.path == COUNTS:
            counting.add(call.thread)
            continue
        begins, observation = call.thread in counting, observation_of(call)
        counting.discard(call.thread)
        if not begins or observation != TIME:
            yield call


def _without_units(calls: Iterable[Call]) -> Iterator[Call]:
    """Leave out the looks by which libgfortran, once it is loaded, makes its units: at each standard stream in turn.

    By what it sees it chooses when its lines are written. Who keeps what it sees there differs between variation runs.
    """
    held: list[Call] = []
    for call in calls:
        if not is_look_at_stream(call, len(held)) or any(call.thread != other.thread for other in held):
            yield from held
            held = []
        if is_look_at_stream(call, len(held)):
            held.append(call)
            held = [] if len(held) == NUMBER_OF_STREAMS else held
        else:
            yield call
    yield from held


def _note_file(found: Causes, call: Call) -> None:
    if call.path.startswith("/proc/") or not call.path.startswith("/"):
        return
    if call.path.startswith(OF_PROCESS) and (call.name in OPENS or (call.result >= 0 and not is_in_key(call.path))):
        # What else is there has no place in the key. That nothing is has.
        return
    if call.name in LOOKS or call.name in OPENS:
        if call.result >= 0 or (call.name in OF_LINKS and call.result == INVALID):
            if call.name in OPENS:
                found.opened.add(call.path)
            found.files[call.path] = True
        else:
            found.files.setdefault(call.path, False)
            if call.result not in NOT_THERE and os.path.exists(call.path):
                found.refused.add(call.path)
        number = NOFOLLOW_IN.get(call.name)
        if call.name in OF_LINKS or (number is not None and call.arguments[number] & NOFOLLOW):
            found.links.add(call.path)
