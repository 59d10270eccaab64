"""The imports of root, one below the other: which module imported which, when, and for how long."""

from ..clock import SECOND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .costs import Ended
    from .document import Value

# Imports that are kept, so that the file stays small: those that took longest.
IMPORTS_SHOWN = 2_000


class Node:
    """One import; ``depth``: imports around it. Times in ns, of the module with all that it imported."""

    __slots__ = ("began", "depth", "name", "own", "path", "wall")

    def __init__(self, depth: int, name: str, path: str, began: int) -> None:
        self.depth = depth
        self.name = name
        self.path = path
        self.began = began
        self.own = self.wall = 0


def imports(ended: "Sequence[Ended]", birth: int) -> "dict[str, Value]":
    """Return the imports in the order in which they began, those of each thread together.

    ``birth``: the moment from which on their beginnings count, by their own clock. Ours do not count.
    """
    nodes: list[Node] = []
    for thread in dict.fromkeys(entry[0] for entry in ended):
        nodes += _nested(entry for entry in ended if entry[0] == thread)
    # What imports another takes as long at least and comes before it, so it is kept if that is.
    longest = sorted(range(len(nodes)), key=lambda number: (-nodes[number].wall, number))[:IMPORTS_SHOWN]
    kept = [nodes[number] for number in sorted(longest)]
    return {
        "name": [node.name for node in kept],
        "depth": [node.depth for node in kept],
        "began": [_seconds(max(node.began - birth, 0)) for node in kept],
        "own": [_seconds(node.own) for node in kept],
        "wall": [_seconds(node.wall) for node in kept],
    }


def _nested(ended: "Iterable[Ended]") -> list[Node]:
    """Return the imports of one thread, each before those that it made."""
    nodes: list[Node] = []
    # The imports that are on, each with the number of imports around it as it was counted; None for ours.
    around: list[tuple[int, Node | None]] = []
    for _, level, name, path, began, own, wall in sorted(ended, key=lambda entry: (entry[4], entry[1])):
        before: Node | None = None
        while around and around[-1][0] >= level:
            before = around.pop()[1]
        if name.startswith("mpiimport."):
            around.append((level, None))
            continue
        # An extension module is created and executed, which are two steps of one import.
        node = before if before is not None and before.path == path else None
        if node is None:
            node = Node(sum(1 for _, outer in around if outer is not None), name, path, began)
            nodes.append(node)
        node.own += own
        node.wall += wall
        around.append((level, node))
    return nodes


def _seconds(nanoseconds: int) -> float:
    return round(nanoseconds / SECOND, 6)
