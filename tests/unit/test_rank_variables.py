"""Runtime and launch side take the same processes for ranks, and a child of a rank is not taken for one."""

import os
import subprocess
import sys

import pytest

from mpiimport.rank_variables import VARIABLES
from mpiimport.runtime.mpi.launcher import launch
from tests.conftest import ROOT

GO_LIST = ROOT / "hooks" / "internal" / "leaves" / "rankenv" / "rank_variables.txt"
# Prints what `is_rank_process` says in this process.
ASK = """
import os
from mpiimport.runtime.mpi.launcher import is_rank_process, launch
if os.environ.get("ASK_AS"):
    os.setuid(int(os.environ["ASK_AS"]))
here = launch()
print("no launch" if here is None else is_rank_process(here))
"""
# A shell that stays the parent of what it starts; the environment of its own start is what /proc shows.
SHELL = ["sh", "-c", '"$@"; status=$?; exit $status', "sh"]


def test_the_launch_side_knows_the_same_rank_variables() -> None:
    listed = GO_LIST.read_text().split()
    assert len(set(listed)) == len(listed)
    assert sorted(rank for rank, _, _ in VARIABLES) == sorted(listed)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ("", None),
        ("PATH=/bin HOME=/root SLURM_PROCID=3 RANK=2", None),
        ("OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=8 OMPI_COMM_WORLD_LOCAL_SIZE=4", (2, 8, 4, 1)),
        ("PMI_RANK=0 PMI_SIZE=1 MPI_LOCALNRANKS=1", (0, 1, 1, 1)),
        ("PMI_RANK=5 PMI_SIZE=6", (5, 6, None, 1)),
        ("PMIX_RANK=1", (1, None, None, 1)),
        ("PMIX_RANK=1 SLURM_STEP_NUM_TASKS=4", (1, 4, None, 1)),
        ("PMIX_RANK=1 SLURM_STEP_NUM_TASKS=4 SLURM_STEP_NUM_NODES=1", (1, 4, 4, 1)),
        ("PMIX_RANK=1 SLURM_STEP_NUM_NODES=1", (1, None, None, 1)),
        ("PMI_RANK=1 PMI_SIZE=4 SLURM_STEP_NUM_TASKS=4 SLURM_STEP_NUM_NODES=1", (1, 4, 4, 1)),
        ("PMI_RANK=1 PMI_SIZE=4 SLURM_STEP_NUM_TASKS=4 SLURM_STEP_NUM_NODES=2", (1, 4, None, 1)),
        # A launcher within the step has started them, and may have done so on other nodes.
        ("PMI_RANK=1 PMI_SIZE=4 SLURM_STEP_NUM_TASKS=1 SLURM_STEP_NUM_NODES=1", (1, 4, None, 1)),
        ("PMI_RANK=1 PMI_SIZE=4 MPI_LOCALNRANKS=2 SLURM_STEP_NUM_TASKS=4 SLURM_STEP_NUM_NODES=1", (1, 4, 2, 1)),
        ("PALS_RANKID=3 PALS_SIZE=4 PALS_LOCAL_SIZE=2", (3, 4, 2, 1)),
        ("ALPS_APP_PE=7 ALPS_APP_SIZE=9", (7, 9, None, 1)),
        ("MPI_LOCALRANKID=1 MPI_LOCALNRANKS=2", (1, None, 2, 1)),
        ("OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4 PMIX_RANK=9 PMI_RANK=9", (3, 4, None, 1)),
        ("OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=4 OMPI_NUM_APP_CTX=2", (0, 4, None, 2)),
        ("PMI_RANK= PMIX_RANK=1", (1, None, None, 1)),
        ("PMI_RANK=none PMI_SIZE=4", None),
        ("PMI_RANK=-1", None),
        ("PMI_RANK=²", None),
        ("PMI_RANK=1 PMI_SIZE=many", (1, None, None, 1)),
    ],
)
def test_what_the_launcher_says_is_read(
    environment: str, expected: tuple[int, ...] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [*filter(None, sum(VARIABLES, ())), "OMPI_NUM_APP_CTX"]:
        monkeypatch.delenv(name, raising=False)
    for word in environment.split():
        monkeypatch.setenv(*word.split("=", 1))
    here = launch()
    assert (here and (here.rank, here.size, here.local_size, here.programs)) == expected
    assert here is None or os.environ[here.rank_variable] == str(here.rank)


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ("SITE_RANK:SITE_SIZE:SITE_LOCAL_SIZE", (3, 8, 2)),
        ("SITE_RANK:SITE_SIZE", (3, 8, None)),
        ("SITE_RANK::SITE_LOCAL_SIZE", (3, None, 2)),
        ("SITE_RANK", (3, None, None)),
        ("UNSET_RANK:SITE_SIZE", (1, 4, None)),
        ("", (1, 4, None)),
    ],
)
def test_a_launcher_that_the_site_names_is_asked_first(
    named: str, expected: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [*filter(None, sum(VARIABLES, ())), "OMPI_NUM_APP_CTX"]:
        monkeypatch.delenv(name, raising=False)
    for word in ["SITE_RANK=3", "SITE_SIZE=8", "SITE_LOCAL_SIZE=2", "PMI_RANK=1", "PMI_SIZE=4"]:
        monkeypatch.setenv(*word.split("=", 1))
    here = launch(named)
    assert here and (here.rank, here.size, here.local_size) == expected


def ask(parent: dict[str, str], child: dict[str, str]) -> str:
    """What a process with the environment ``child`` says of itself under a parent with ``parent``."""
    command = [*SHELL, "env", "-i", *(f"{name}={text}" for name, text in child.items()), sys.executable, "-c", ASK]
    done = subprocess.run(command, env=parent, stdout=subprocess.PIPE, check=True, text=True, cwd=ROOT)
    return done.stdout.strip()


@pytest.mark.parametrize("variable", [rank for rank, _, _ in VARIABLES])
def test_a_process_is_a_rank_where_its_parent_is_none(variable: str) -> None:
    rank = {variable: "1"}
    path = {"PATH": os.environ["PATH"]}
    assert ask(path, rank) == "True"
    assert ask({**path, **rank}, rank) == "False"
    assert ask({**rank, **path}, rank) == "False"


@pytest.mark.parametrize(("rank", "size"), [(rank, size) for rank, size, _ in VARIABLES if size])
def test_a_launcher_that_a_rank_of_another_job_has_started_starts_ranks(rank: str, size: str) -> None:
    outer = {"PATH": os.environ["PATH"], rank: "0", size: "1"}
    assert ask(outer, {rank: "0", size: "2"}) == "True"
    assert ask(outer, {rank: "0", size: "1"}) == "False"
    assert ask({**outer, size: "12"}, {rank: "0", size: "1"}) == "True"
    # A container's entry has named the process that the outer rank became.
    assert ask(outer, {rank: "0", size: "2", "_MPIIMPORT_PID": "1"}) == "True"
    assert ask(outer, {rank: "0", size: "1", "_MPIIMPORT_PID": "1"}) == "False"
    # All ranks of a job say the same, so one that may be a script's child is none.
    assert ask({**outer, rank: "3"}, {rank: "0", size: "1"}) == "False"
    assert ask({"PATH": outer["PATH"], rank: "0"}, {rank: "0", size: "1"}) == "False"


def test_variables_that_only_look_alike_do_not_count() -> None:
    path = {"PATH": os.environ["PATH"]}
    assert ask({**path, "XPMI_RANK": "1", "PMI_RANK_X": "1", "X": "PMI_RANK=1"}, {"PMI_RANK": "1"}) == "True"
    assert ask(path, {"XPMI_RANK": "1"}) == "no launch"


def test_a_process_that_is_named_is_the_rank_and_no_other_is() -> None:
    rank = {"PATH": os.environ["PATH"], "PMI_RANK": "1"}
    assert ask(rank, {**rank, "_MPIIMPORT_PID": "1"}) == "False"
    assert ask({"PATH": rank["PATH"]}, {**rank, "_MPIIMPORT_PID": "1"}) == "False"
    # The entry binary names itself and becomes the program.
    program = ["env", "-i", "PMI_RANK=1", "sh", "-c", '_MPIIMPORT_PID=$$ exec "$@"', "sh", sys.executable, "-c", ASK]
    done = subprocess.run([*SHELL, *program], env=rank, stdout=subprocess.PIPE, check=True, text=True, cwd=ROOT)
    assert done.stdout.strip() == "True"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a process as another user")
def test_a_parent_that_cannot_be_looked_at_is_a_launcher() -> None:
    rank = {"PATH": os.environ["PATH"], "PMI_RANK": "1"}
    assert ask(rank, {**rank, "ASK_AS": "65534"}) == "True"
