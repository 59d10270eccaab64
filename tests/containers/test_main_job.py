"""The main job through every entry point: a container's ranks import numpy from what root read."""

import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome, run
from lab.syscalls import MARK, on_tree, rank_traces, tracer
from tests.containers.cells import IDENTITIES, MODES, MPIS, Cell, Site
from tests.containers.entry_points import ENTRY_POINTS

PROGRAM = f"""
import numpy
import os
os.path.exists("{MARK}imported")
from mpi4py import MPI
rank = MPI.COMM_WORLD.rank
if rank == 0:
    os.path.exists("{MARK}root")
MPI.COMM_WORLD.Barrier()
print("done", rank, MPI.COMM_WORLD.size, type(numpy.__loader__).__name__, flush=True)
"""
RANKS = 4
SERVED = [f"done {rank} {RANKS} StoreSourceLoader" for rank in range(RANKS)]


def launch(
    site: Site, mpi: Mpi, cell: Cell, workspace: Path, text: str, tracer: Sequence[str] = (), accelerated: bool = True
) -> Outcome:
    """Run a program on four ranks, as the cell says."""
    entry_point, script = ENTRY_POINTS[cell.entry_point], workspace / "app.py"
    script.write_text(text)
    command = entry_point.command(site, cell, mpi, RANKS, script, [*tracer], accelerated=accelerated)
    environment = entry_point.environment(site, cell, mpi) | ({"MPIIMPORT": "force"} if accelerated else {})
    return run(site.as_identity(cell.identity, command), environment, 300, workspace)


CELLS = [
    cell
    for entry_point in ENTRY_POINTS.values()
    for cell in itertools.starmap(
        Cell, itertools.product([entry_point.name], entry_point.trees, IDENTITIES, MODES, MPIS)
    )
    if not entry_point.void(cell)
]


@pytest.mark.parametrize(
    "cell",
    [pytest.param(cell, id=str(cell), marks=() if cell.is_representative else pytest.mark.full) for cell in CELLS],
)
def test_other_ranks_leave_the_tree_alone_in_containers(site: Site, mpis: dict[str, Mpi], cell: Cell) -> None:
    workspace = site.workspace(cell.identity)
    outcome = launch(site, mpis[cell.mpi], cell, workspace, PROGRAM, tracer(workspace))
    assert outcome.printed() == SERVED
    traces = rank_traces(workspace)
    assert len(traces) == RANKS
    for found in traces:
        if not found.is_root():
            tree = site.paths(cell.tree)
            assert found.while_served(tree) == []
            if cell.mode == "hybrid":
                assert len(on_tree(found.calls[: found.activated_at()], tree)) <= 250


def pairs(cells: list[Cell]) -> set[tuple[str, str]]:
    values = [(cell.tree, cell.identity, cell.mode, cell.mpi) for cell in cells]
    return {pair for value in values for pair in itertools.combinations(value, 2)}


def test_every_pair_of_values_is_tried_every_day() -> None:
    for entry_point in ENTRY_POINTS.values():
        cells = [cell for cell in CELLS if cell.entry_point == entry_point.name]
        if {cell.mode for cell in cells} == {*MODES}:
            assert pairs([cell for cell in cells if cell.is_representative]) == pairs(cells)


@pytest.mark.parametrize(("name", "tree"), [("shim", "sandbox"), ("shim", "sif"), ("oci_hook", "oci"), ("cdi", "oci")])
def test_the_same_command_without_the_flag_is_plain(site: Site, mpich: Mpi, name: str, tree: str) -> None:
    cell = Cell(name, tree, "root", "hybrid", "mpich")
    outcome = launch(site, mpich, cell, site.workspace("root"), PROGRAM, accelerated=False)
    assert outcome.status == 0, outcome.stderr
    assert outcome.lines() == [line.replace("StoreSource", "SourceFile") for line in SERVED]


BECOMES = """
import numpy
import os
print(type(numpy.__loader__).__name__, flush=True)
rank = os.environ.get("PMI_RANK", os.environ.get("PMI_ID"))
os.execlp("sh", "sh", "-c", f"sleep {rank}; echo ended {rank}")
"""


@pytest.mark.parametrize(
    "cell",
    [
        pytest.param(cell, id=str(cell), marks=() if cell.identity == "user" else pytest.mark.full)
        for cell in CELLS
        if (cell.tree, cell.mode, cell.mpi) == (ENTRY_POINTS[cell.entry_point].trees[-1], "hybrid", "mpich")
    ],
)
def test_ranks_in_containers_become_programs_that_end_at_different_times(site: Site, mpich: Mpi, cell: Cell) -> None:
    outcome = launch(site, mpich, cell, site.workspace(cell.identity), BECOMES)
    assert (outcome.status, outcome.lines()) == (
        0,
        ["StoreSourceLoader"] * RANKS + [f"ended {rank}" for rank in range(RANKS)],
    ), outcome.stderr
