"""What to do about what a report shows: what stands out in it, the longest first, and a remedy for each."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mpiimport.runtime.clock import BROADCAST, EXEC, HANDSHAKE, IMPORTS, INIT, INTERPRETER, MAIN, READ, SITE
from mpiimport.runtime.report.tree_kind import IMAGE

from .waits import Wait, waits

# What takes a smaller share of the time before the program's own code is not worth a word.
NOTABLE = 0.1
# Modules read for each one imported, from which on a manifest pays.
IN_VAIN = 1.5
DEAREST = 3


@dataclass(frozen=True)
class Advice:
    """``seconds``: what it is about, of a rank in the middle; None where that is no matter of time."""

    seconds: float | None
    finding: str
    remedy: str


def advice(facts: dict[str, Any]) -> list[Advice]:
    """Return what stands out; what is no matter of time comes first, and what ranks lack cores for comes last."""
    timed = [one for rule in _TIMED for one in rule(facts) if _stands_out(one, facts)]
    cores = [one for one in _without_core(facts) if _stands_out(one, facts)]
    return [*_whose(facts), *sorted(timed, key=lambda one: -(one.seconds or 0)), *cores, *_missed(facts)]


def _stands_out(one: Advice, facts: dict[str, Any]) -> bool:
    return bool(one.seconds) and (one.seconds or 0) >= NOTABLE * _start_up(facts)


def _start_up(facts: dict[str, Any]) -> float:
    """Return what all phases but the program's own take, or all of them where imports are a part of it."""
    medians = {phase: clocks["wall"]["median"] for phase, clocks in facts["phases"].items()}
    return float(sum(medians.values()) - (medians.get(MAIN, 0) if IMPORTS in medians else 0))


def _whose(facts: dict[str, Any]) -> list[Advice]:
    if "bypassed" in facts:
        return [
            Advice(
                None,
                f"the job ran as plain Python: {facts['bypassed']}",
                "docs/messages.md says for each reason what to do",
            )
        ]
    if facts["scope"] == "start-up":
        return [
            Advice(None, "the report ends where the program began: the job was aborted, or goes on", "see how it ended")
        ]
    if facts["scope"] == "root" and not facts.keys() & {"cached_store", "snapshot"}:
        return [
            Advice(
                None,
                "these are figures of root alone: not all ranks came to the end of MPI",
                "call MPI_Finalize or leave it to mpi4py, on all ranks",
            )
        ]
    return []


def _slow_phases(facts: dict[str, Any]) -> list[Advice]:
    return [
        Advice(facts["phases"][phase]["wall"]["median"], finding, remedy)
        for phase, (finding, remedy) in _SLOW.items()
        if phase in facts["phases"]
    ]


_SLOW = {
    EXEC: (
        "each rank waits for its container",
        "let the ranks of a node share one: container.per_node in the site profile",
    ),
    INTERPRETER: (
        "python takes long until it runs mpiimport's first module",
        "put the interpreter and its libraries into an image or on a disk of the node; remove .pth files that import",
    ),
    INIT: (
        "MPI takes long to start",
        "ask how long MPI_Init takes in a C program; what is longer here is mpi4py and libmpi being read",
    ),
    SITE: (
        "site takes long: .pth files or sitecustomize import modules",
        "remove what the program does not need",
    ),
    BROADCAST: (
        "the payload takes long to reach the nodes",
        "osu_bcast of the OSU Micro-Benchmarks times sending alone: what is longer here is root that reads libraries",
    ),
}


def _late_rank(facts: dict[str, Any]) -> list[Advice]:
    return [
        Advice(wait.median, f"all wait for rank {wait.rank} to start: {wait.why}", "look at its node, or the launcher")
        for wait in _waits_at(facts, HANDSHAKE)
    ]


def _reading(facts: dict[str, Any]) -> list[Advice]:
    stored, served = facts.get("modules_stored", 0), facts.get("modules_served", 0)
    if served and stored > IN_VAIN * served:
        finding = f"root reads {stored:,} modules, and {served:,} of them are imported"
        remedy = "run it again: the next run reads what this one imported; or bake that in: `mpiimport bake`"
    else:
        finding = "all wait while root reads"
        remedy = "a session reads once for many jobs: `mpiimport session start`"
        if facts.get("tree") != IMAGE:
            remedy += "; or give root the tree faster: an image file, or a file system with quicker metadata"
    return [Advice(wait.median, finding, remedy) for wait in _waits_at(facts, READ)]


def _importing(facts: dict[str, Any]) -> list[Advice]:
    if IMPORTS not in facts["phases"]:
        return []
    dearest = [module["name"] for module in facts["modules"] if module["name"]][:DEAREST]
    most = f", most of all {', '.join(dearest)}" if dearest else ""
    if "snapshot" in facts:
        remedy = "import that where the snapshot has it: `mpiimport session status` says which statement ends the begin"
    else:
        remedy = (
            "start from a snapshot, which has imported: `mpiimport prepare`; or import in functions, or "
            "lazily, what not every run needs"
        )
    return [
        Advice(
            facts["phases"][IMPORTS]["own"]["median"],
            f"executing modules takes a core's time on each rank{most}",
            remedy,
        )
    ]


def _without_core(facts: dict[str, Any]) -> list[Advice]:
    return [
        Advice(
            facts["total"]["waited"]["median"],
            "ranks are ready to go on and have no core",
            "where the node has cores for all, bind each rank to its own, and set OMP_NUM_THREADS to their number",
        )
    ]


def _missed(facts: dict[str, Any]) -> list[Advice]:
    missed = facts.get("missed", [])
    if not missed:
        return []
    finding = f"not from the store: {missed[0]['name']}, {missed[0]['why']}"
    if len(missed) > 1:
        finding += f"; and {len(missed) - 1:,} more"
    return [Advice(None, finding, "run it again: the next run knows it, unless a loader of its own imports it")]


def _waits_at(facts: dict[str, Any], where: str) -> list[Wait]:
    return [wait for wait in waits(facts) if wait.where == where]


_TIMED: tuple[Callable[[dict[str, Any]], list[Advice]], ...] = (
    _slow_phases,
    _late_rank,
    _reading,
    _importing,
)
