"""Ranks in containers of their own exchange large messages, whoever starts them, with no profile named."""

from collections.abc import Callable

import pytest

from lab.ranks import Mpi, Outcome
from tests.conftest import provision
from tests.containers.cells import Site

# MPIs copy messages of this size from the memory of another process, which another user namespace refuses.
PROGRAM = """
from mpi4py import MPI
comm = MPI.COMM_WORLD
sent, received = bytes([comm.rank]) * (8 << 20), bytearray(8 << 20)
comm.Sendrecv(sent, 1 - comm.rank, 0, received, 1 - comm.rank, 0)
print("received", received[-1], flush=True)
"""
Launch = Callable[..., Outcome]


@pytest.fixture
def launch(site: Site, mpis: dict[str, Mpi]) -> Launch:
    directory = site.workspace("user")
    (directory / "app.py").write_text(PROGRAM)

    def of(mpi: str, command: list[str], **changes: str) -> Outcome:
        inside = mpis["openmpi" if mpi == "openmpi" else "mpich"]
        path = f"{site.prefix / 'shim'}:{site.environment('user', inside)['PATH']}"
        return site.run(command, inside, "user", directory=directory, PATH=path, **changes)

    return of


def start(site: Site, *flag: str) -> list[str]:
    return ["apptainer", "exec", *flag, str(site.images / "py"), "python3", "app.py"]


@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
@pytest.mark.parametrize("way", ["shim", "plugin", "mpiimport run"])
def test_the_bare_flag_is_enough(site: Site, launch: Launch, mpis: dict[str, Mpi], mpi: str, way: str) -> None:
    runtime, *words = start(site, *([] if way == "mpiimport run" else ["--mpiimport"]))
    front = [site.tool, "run", "--"] if way == "mpiimport run" else []
    program = site.apptainer(way) if way == "plugin" else runtime
    outcome = launch(mpi, [*front, *mpis[mpi].command(2), program, *words], MPIIMPORT="force")
    assert (outcome.status, outcome.lines()) == (0, ["received 0", "received 1"]), outcome.stderr
    served = ["2 ranks: served"] if way == "mpiimport run" else []
    assert [line.partition("; ")[0].removeprefix("mpiimport: ") for line in outcome.ours()] == served


@pytest.mark.full
@pytest.mark.parametrize("library", ["/opt/intel/lib/libmpi.so.12", "/opt/mpich/lib/libmpi.so.12"])
def test_intels_launcher_starts_both_of_its_abi(site: Site, launch: Launch, library: str) -> None:
    home = provision("intel_mpi.sh")
    command = [str(home / "bin" / "mpiexec"), "-n", "2", *start(site, "--mpiimport", "--bind", f"{home}:/opt/intel:ro")]
    outcome = launch("intel", command, MPI4PY_LIBMPI=library, I_MPI_ROOT="/opt/intel", MPIIMPORT="force")
    assert outcome.printed() == ["received 0", "received 1"]


def test_the_profile_that_is_composed_is_named(site: Site, launch: Launch, mpich: Mpi) -> None:
    apptainer, *words = start(site, "--mpiimport")
    outcome = launch("mpich", [*mpich.command(2), apptainer, "-v", *words])
    assert "mpiimport: the profile is default,mpich,intel" in outcome.ours(), outcome.stderr


@pytest.fixture
def doctor(site: Site, mpich: Mpi) -> Launch:
    def of(*words: str, launcher: list[str]) -> Outcome:
        path = f"{mpich.prefix / 'bin'}:{site.environment('user', mpich)['PATH']}"
        return site.run([site.tool, "doctor", *words, site.images / "py", "--", *launcher], mpich, "user", PATH=path)

    return of


def test_doctor_sends_a_large_message(doctor: Launch) -> None:
    outcome = doctor(launcher=["mpiexec", "-n", "2"])
    assert outcome.status == 0, outcome.stdout + outcome.stderr
    assert "ranks mpiexec -n 2: 2 start, and 8 MiB arrive where one sends them" in " ".join(outcome.stdout.split())


def test_doctor_names_the_remedy_where_it_does_not_arrive(doctor: Launch) -> None:
    outcome = doctor("--profile", "munge", launcher=["mpiexec", "-n", "2"])
    said = " ".join(outcome.stdout.split())
    assert outcome.status == 1, outcome.stdout + outcome.stderr
    assert "a message of 8 MiB between two of them fails: copy_iovs" in said
    assert "name the profile of their MPI (--mpiimport=mpich)" in said
