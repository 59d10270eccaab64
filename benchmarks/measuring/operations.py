"""Which rank asked for which operation of the lab's file system, before its program began and after, and where."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lab.filesystem import Operation

# The program asks for a path of this name below sys.prefix as the first thing it does.
MARK = "program-mark-"
# Parts of a Python tree, by what their paths hold; the first that fits counts.
PARTS = (
    ("mpi4py", "/site-packages/mpi4py"),
    ("site-packages", "/site-packages"),
    ("lib-dynload", "/lib-dynload"),
    ("libpython", "/libpython"),
    ("standard library", "/lib/python3"),
    ("bin", "/bin"),
)


@dataclass
class RankOperations:
    """The metadata operations of one rank, each open counted twice, for the close that the kernel makes of it."""

    before: int = 0
    after: int = 0
    asked_before: list[Operation] = field(default_factory=list)


def by_rank(operations: Sequence[Operation], pids: Sequence[int]) -> list[RankOperations]:
    """Return the operations of each of the processes, in their order; without reads, which are none of the metadata."""
    ranks = {pid: RankOperations() for pid in pids}
    marked = set()
    for operation in operations:
        rank = ranks.get(operation.pid)
        if rank is None or operation.name == "read":
            continue
        if MARK in operation.path:
            marked.add(operation.pid)
        elif operation.pid in marked:
            rank.after += _weight(operation)
        else:
            rank.before += _weight(operation)
            rank.asked_before.append(operation)
    return list(ranks.values())


def mean_by_place(ranks: Sequence[RankOperations], directories: dict[str, Path]) -> dict[str, dict[str, float]]:
    """Return how often a rank asks before its program begins, by where, then by operation.

    ``directories``: those that lie on the file system, by their names.
    """
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for rank in ranks:
        for operation in rank.asked_before:
            table[_place(operation.path, directories)][operation.name] += _weight(operation)
    return {
        place: {name: round(count / len(ranks), 2) for name, count in counts.most_common()}
        for place, counts in sorted(table.items())
    }


def _place(path: str, directories: dict[str, Path]) -> str:
    name = next(name for name, directory in directories.items() if Path(path).is_relative_to(directory))
    part = next((part for part, text in PARTS if text in path[len(str(directories[name])) :]), "")
    return f"{name}: {part or 'other'}"


def _weight(operation: Operation) -> int:
    return 2 if operation.name == "open" else 1
