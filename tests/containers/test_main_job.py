"""The main job on real images: mpirun ... singularity exec --mpiimport IMAGE python app.py."""

import pytest

from tests.containers.cells import ALL, DOZEN, Cell, Site
from tests.lab.ranks import Mpi, run
from tests.lab.syscalls import MARK, on_tree, trace

PROGRAM = f"""
import numpy; import scipy.interpolate
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


@pytest.mark.parametrize(
    "cell", [pytest.param(cell, id=str(cell), marks=() if cell in DOZEN else pytest.mark.full) for cell in ALL]
)
def test_other_ranks_leave_the_tree_alone_in_containers(site: Site, mpis: dict[str, Mpi], cell: Cell) -> None:
    mpi = mpis[cell.mpi]
    workspace = site.workspace(cell.identity)
    script = workspace / "app.py"
    script.write_text(PROGRAM)
    command = site.command(cell, mpi, RANKS, [f"--mpiimport={cell.mpi}"], script)
    outcome, traces = trace(
        command,
        site.environment(cell, mpi, MPIIMPORT="force"),
        workspace,
        as_identity=lambda words: site.as_identity(cell.identity, words),
    )
    assert outcome.status == 0, outcome.stderr
    assert outcome.lines() == SERVED, outcome.stderr
    assert outcome.ours() == []
    assert len(traces) == RANKS
    for found in traces:
        position = found.activated_at()
        assert position is not None
        if not any(call.path == MARK + "root" for call in found.calls):
            tree = site.paths(cell.tree)
            assert on_tree(found.until_mark("imported")[position:], tree) == []
            if cell.mode == "hybrid":
                assert len(on_tree(found.calls[:position], tree)) <= 250


@pytest.mark.parametrize("tree", ["sandbox", "sif"])
def test_the_same_command_without_the_flag_is_plain(site: Site, mpich: Mpi, tree: str) -> None:
    cell = Cell(tree, "root", "hybrid", "mpich")
    workspace = site.workspace("root")
    script = workspace / "app.py"
    script.write_text(PROGRAM)
    outcome = run(site.command(cell, mpich, RANKS, [], script), site.environment(cell, mpich), directory=workspace)
    assert outcome.status == 0, outcome.stderr
    assert outcome.lines() == [line.replace("StoreSource", "SourceFile") for line in SERVED]
