"""Shortest paths in a road network, sources shared among the ranks."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Iterator, Protocol

import networkx as nx
import numpy as np
from scipy.sparse.csgraph import dijkstra

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mpi4py.MPI import Comm
    from numpy.typing import NDArray

    Distances = Mapping[int, float]


class Solver(Protocol):
    def __call__(self, graph: nx.Graph, source: int) -> Distances: ...


@dataclass(order=True)
class Entry:
    distance: float
    node: int = field(compare=False)


@lru_cache(maxsize=None)
def network(seed: int = 4, n: int = 40) -> nx.Graph:
    rng = np.random.default_rng(seed)
    graph = nx.cycle_graph(n)
    graph.add_edges_from((int(a), int(b)) for a, b in rng.integers(0, n, (n, 2)) if a != b)
    for a, b in sorted(graph.edges):
        graph.edges[a, b]["weight"] = float(rng.uniform(1, 10))
    return graph


def by_hand(graph: nx.Graph, source: int) -> Distances:
    done: dict[int, float] = {}
    queue = [Entry(0.0, source)]
    while queue:
        entry = heapq.heappop(queue)
        if entry.node in done:
            continue
        done[entry.node] = entry.distance
        for other, data in graph[entry.node].items():
            heapq.heappush(queue, Entry(entry.distance + data["weight"], other))
    return done


def by_scipy(graph: nx.Graph, source: int) -> Distances:
    matrix = nx.to_scipy_sparse_array(graph, nodelist=sorted(graph))
    return dict(enumerate(dijkstra(matrix, indices=source)))


SOLVERS: dict[str, Solver] = {"by hand": by_hand, "scipy": by_scipy, "networkx": nx.single_source_dijkstra_path_length}


def rows(comm: Comm) -> Iterator[tuple[str, int, float]]:
    for name, solver in SOLVERS.items():
        solve: Callable[[int], Distances] = partial(solver, network())
        for source in range(comm.rank, 6, comm.size):
            distances: NDArray = np.array(sorted(solve(source).values()))
            yield name, source, round(float(distances.sum()), 6)


def main() -> None:
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    gathered = comm.gather(list(rows(comm)))
    if comm.rank == 0:
        table = sorted(row for part in gathered for row in part)
        for name, source, total in table:
            print(f"{name:10} {source:3d} {total:12.6f}")
        print("agree:", len({(source, total) for _, source, total in table}) == 6)


if __name__ == "__main__":
    main()
