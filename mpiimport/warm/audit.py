"""Which modules may be in an image: those of which every cause and every difference has an answer."""

import marshal
import os
import signal
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import causes, registry
from .auditing import FORK, NEVER, PROGRAM, WHOLE, WORDS
from .graph import GENERATOR
from .memory_map import Refused

HERE = Path(__file__).resolve().parent
PACKAGES = HERE.parent.parent
FREEZE = str(HERE / "freeze.so")
# A tree that never comes to rest has no image.
ROUNDS = 12
SECONDS = 300
NEEDS = "it needs "
# What another rank is told.
OTHER_RANK = {"PMI_RANK": "1", "OMPI_COMM_WORLD_RANK": "1", "PMIX_RANK": "1", "SLURM_PROCID": "1", "TMPDIR": "/"}


@dataclass
class Verdict:
    """``modules``: what is in the image; ``left_out``: module -> why; ``variables``, ``files``: of the key;
    ``generators``: (module, attribute); ``threads``: modules whose libraries start threads.
    """

    modules: list[str]
    left_out: dict[str, str] = field(default_factory=dict)
    variables: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    generators: list[tuple[str, str]] = field(default_factory=list)
    threads: set[str] = field(default_factory=set)

    def reasons(self) -> dict[str, str]:
        """Return why modules are left out, less those that need one of these."""
        return {name: why for name, why in sorted(self.left_out.items()) if not why.startswith(NEEDS)}


class Audit:
    """Imports of one program. ``words``: the interpreter and its options; ``directory``: for what is written."""

    def __init__(self, words: list[str], directory: Path, environment: dict[str, str]) -> None:
        self._words = words
        self._directory = directory
        self._generators: set[str] = set()
        self._environment = {**environment, "PYTHONHASHSEED": environment.get("PYTHONHASHSEED", "0")}

    def verdict(self, names: list[str]) -> Verdict:
        """Leave out what has no answer, and what needs it, until all that is left has one. Raises Refused."""
        mpi = [name for name in names if name.partition(".")[0] == NEVER]
        verdict = Verdict([name for name in names if name not in mpi], dict.fromkeys(mpi, "it belongs to MPI"))
        for _ in range(ROUNDS):
            seen = self._import(verdict.modules, "causes")
            asked = causes.read(self._directory / "log")
            self._refuse_fork_handlers(asked)
            # What is tried and not there: whoever tries it goes on without.
            verdict.modules = [name for name in verdict.modules if name not in seen["failed"]]
            refused = self._by_name(seen) | self._by_reads(seen)
            differing = self._differing(verdict.modules)
            refuse_deliberate_seeds(set(seen["origins"]), differing)
            refused |= self._by_causes(asked, verdict)
            refused |= self._by_differences(differing, verdict)
            if not refused:
                self._fill(verdict, asked, seen)
                return verdict
            self._leave_out(verdict, refused, seen["edges"])
        raise Refused("imports differ from one process to the next")

    def _import(self, modules: list[str], way: str, **changes: Any) -> dict[str, Any]:
        plan, output = self._directory / "audit", self._directory / "seen"
        content = {"package": str(PACKAGES), "modules": modules, "output": str(output), "way": way, "freeze": FREEZE}
        plan.write_bytes(marshal.dumps(content))
        command = [*self._words, str(HERE / "auditing.py"), str(plan)]
        environment = dict(self._environment)
        if way == "causes":
            command = [str(HERE / "warm-recorder"), str(self._directory / "log"), *command]
            environment["LD_PRELOAD"] = f"{HERE / 'variables.so'} {environment.get('LD_PRELOAD', '')}".strip()
        environment |= changes.get("environment", {})
        options: dict[str, Any] = {"cwd": changes.get("cwd"), "preexec_fn": changes.get("before", default_signals)}
        outcome = subprocess.run(command, env=environment, timeout=SECONDS, capture_output=True, **options)
        if outcome.returncode:
            last = outcome.stderr.decode(errors="replace").strip().splitlines()[-1:]
            raise Refused(f"the imports of the audit ended with status {outcome.returncode}: {' '.join(last)}")
        found: dict[str, Any] = marshal.loads(output.read_bytes())
        return found

    def _refuse_fork_handlers(self, asked: causes.Causes) -> None:
        """Raise Refused where a library makes state anew in a forked process, for starts are no forks."""
        wanted = sorted(cause for name, cause in asked.asked if name == FORK)
        if wanted:
            raise Refused(f"a fork handler of a library asks for {', '.join(wanted)}")

    def _differing(self, modules: list[str]) -> set[str]:
        """Return the paths at which twins differ; one of three has another place, rank and mask."""
        first = self._import(modules, "state")["state"]
        one = min(os.sched_getaffinity(0))
        other = {"environment": OTHER_RANK, "cwd": "/", "before": lambda: as_one_of_many(one)}
        differing: dict[str, str] = {}
        for changes in ({}, other):
            twin = self._import(modules, "state", **changes)["state"]
            paths = (path for path in {*first, *twin} if first.get(path) != twin.get(path))
            differing |= {path: first.get(path, "") for path in paths}
        self._generators = {path for path, value in differing.items() if value.startswith(GENERATOR)}
        return set(differing)

    def _by_name(self, seen: dict[str, Any]) -> dict[str, str]:
        return {importer: f"{NEEDS}{NEVER}" for importer, name in seen["edges"] if name == NEVER and importer}

    def _by_reads(self, seen: dict[str, Any]) -> dict[str, str]:
        why = {WHOLE: "all variables", WORDS: WORDS, PROGRAM: PROGRAM}
        return {name: f"it looks at {why[read]}" for name, read in seen["reads"] if read in why and name}

    def _by_causes(self, asked: causes.Causes, verdict: Verdict) -> dict[str, str]:
        refused = {}
        for (name, cause), times in asked.asked.items():
            if registry.answer(name, cause):
                if cause == causes.THREAD:
                    verdict.threads.add(name)
            elif cause != causes.ENTROPY or times != len(self._generators_of(name)):
                refused[name] = f"it asks for {cause}"
        return refused

    def _generators_of(self, name: str) -> list[tuple[str, str]]:
        """Return the generators of random numbers that are attributes of a module and differ between twins."""
        pairs = (path.partition(":") for path in self._generators)
        return [(module, key) for module, _, key in pairs if module == name and key.isidentifier()]

    def _by_differences(self, differing: set[str], verdict: Verdict) -> dict[str, str]:
        refused = {}
        for path in sorted(differing):
            name, _, key = path.partition(":")
            if registry.is_made_new(path):
                continue
            if (name, key) in self._generators_of(name):
                if (name, key) not in verdict.generators:
                    verdict.generators.append((name, key))
            else:
                refused[name] = f"{key} differs between processes"
        return refused

    def _leave_out(self, verdict: Verdict, refused: dict[str, str], edges: Iterable[tuple[str, str]]) -> None:
        """Take modules away, those that import them, and those in them."""
        users: dict[str, set[str]] = {}
        for importer, imported in edges:
            users.setdefault(imported, set()).add(importer)
        before, waiting = set(verdict.modules), dict(refused)
        verdict.threads, verdict.generators = set(), []
        while waiting:
            name, why = waiting.popitem()
            if not name or name in verdict.left_out:
                continue
            verdict.left_out[name] = why
            inside = {other for other in before if other.startswith(name + ".")}
            for user in users.get(name, set()) | inside:
                waiting.setdefault(user, f"{NEEDS}{name}")
        verdict.modules = [name for name in verdict.modules if name not in verdict.left_out]
        if set(verdict.modules) == before:
            raise Refused("; ".join(f"{name}: {why}" for name, why in sorted(refused.items())))

    def _fill(self, verdict: Verdict, asked: causes.Causes, seen: dict[str, Any]) -> None:
        reads = {name for _, name in seen["reads"]} - {WHOLE, WORDS, PROGRAM}
        verdict.variables = asked.variables | reads | set(registry.ALWAYS)
        verdict.files = {path for path in key_files(asked) if not path.startswith(str(self._directory))}


def key_files(asked: causes.Causes) -> set[str]:
    """Return the paths whose stamps say that imports would see what they saw.

    Directories that were listed say what is in them, so nothing that was absent there need be looked for; bytecode is
    believed only as far as its source is as it was.
    """
    listed = {path for path in asked.opened if Path(path).is_dir()}
    present = {path for path, there in asked.files.items() if there}
    found = listed | {path for path in present if not Path(path).is_dir()}
    for path in [path for path in found if "/__pycache__/" in path]:
        source = Path(path).parent.parent / (Path(path).name.split(".")[0] + ".py")
        if str(source) in present:
            found.discard(path)
    for path, there in asked.files.items():
        if not there and os.path.dirname(path) not in listed and not os.path.lexists(path):
            found.add(path)
    return {path for path in found if not path.startswith(str(HERE))}


def refuse_deliberate_seeds(modules: set[str], differing: set[str]) -> None:
    """Raise Refused where an import has seeded a generator that each start seeds anew: plainly the seed stays."""
    for path in registry.SEEDED_ANEW:
        name = path.partition(":")[0]
        if name in modules and path not in differing:
            raise Refused(f"an import has seeded the generator of {name}")


def default_signals() -> None:
    """Let a child begin as a shell starts one, whoever makes the image: nothing is ignored or blocked."""
    for number in signal.valid_signals():
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def as_one_of_many(processor: int) -> None:
    """Bind a child to one processor, as launchers do."""
    default_signals()
    os.sched_setaffinity(0, {processor})
