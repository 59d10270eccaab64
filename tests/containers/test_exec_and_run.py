"""`mpiimport exec` and `mpiimport run`: what people type, on real runtimes and launchers."""

import json
import sys
from pathlib import Path

import pytest

from lab.ranks import Mpi, clean_environment, run
from tests.containers.cells import Site
from tests.containers.entry_points.entrypoint import PLAIN, make_docker_images
from tests.containers.person import Person

PROGRAM = """
import xml.dom.minidom, os
from mpi4py import MPI
comm = MPI.COMM_WORLD
print("done", comm.rank, comm.size, type(xml.dom.minidom.__loader__).__name__, os.environ.get("SITE"), flush=True)
"""
ENVIRONMENT = "environment: {set: {SITE: here}}"


def served(site: str | None) -> list[str]:
    return [f"done {rank} 2 StoreSourceLoader {site}" for rank in range(2)]


@pytest.fixture(params=["root", "user"])
def identity(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Caller(Person):
    """A person with a program in a directory, and mpiimport at hand."""

    def __init__(self, site: Site, identity: str, mpi: Mpi) -> None:
        super().__init__(site, mpi, identity)
        self.script = self.directory / "app.py"
        self.script.write_text(PROGRAM)
        self.environment |= {"MPIIMPORT": "force"}
        self.command = site.tool

    def extending(self, profile: str) -> Path:
        path = self.profile("mine", f"extends: {profile}\n{ENVIRONMENT}\n")
        path.parent.chmod(0o777)
        return path


@pytest.mark.parametrize(("tree", "identity"), [("sandbox", "root"), ("sif", "user")])
def test_each_rank_may_call_exec(site: Site, mpi: Mpi, identity: str, tree: str) -> None:
    person = Caller(site, identity, mpi)
    person.extending(mpi.name)
    _, image = site.image(tree)
    outcome = person.run(
        *mpi.command(2), person.command, "exec", "--profile", "mine", image, "/usr/bin/python3", person.script
    )
    assert (outcome.status, outcome.lines()) == (0, served("here")), outcome.stderr


def test_exec_runs_an_image_of_docker_where_the_person_is(site: Site, mpi: Mpi, identity: str) -> None:
    make_docker_images(site)
    person = Caller(site, identity, mpi)
    person.extending(mpi.name)
    options = ["--network=none", *(f"--env={name}={value}" for name, value in mpi.environment.items())]
    options.append(f"--env=MPI4PY_LIBMPI={person.environment['MPI4PY_LIBMPI']}")
    mpiexec = [f"/opt/{mpi.name}/bin/mpiexec", *mpi.options, "-n", "2"]
    outcome = person.run(
        *(person.command, "exec", "--profile", "mine", *options, PLAIN, *mpiexec, "python3", "app.py"),
        PATH="/usr/bin:/bin:/usr/sbin:/sbin",
        DOCKER_HOST=site.docker.host,
    )
    assert (outcome.status, outcome.lines()) == (0, served("here")), outcome.stderr


def test_exec_ends_as_the_command_ended(site: Site, mpich: Mpi) -> None:
    person = Caller(site, "user", mpich)
    _, image = site.image("sif")
    assert person.run(person.command, "exec", image, "sh", "-c", "exit 37").status == 37
    missing = person.run(person.command, "exec", "none.sif", "true")
    assert (missing.status, missing.lines()) == (2, [])
    assert missing.ours() == ["mpiimport: there is no image none.sif; mend the path"]


def test_run_reads_the_profile_once_for_all_containers(site: Site, mpi: Mpi, identity: str) -> None:
    person = Caller(site, identity, mpi)
    profile = person.extending(mpi.name)
    _, image = site.image("sif")
    # A container start that looked for the profile would end with status 2.
    forgetting = ["sh", "-c", f'rm {profile} && exec "$@"', "sh"]
    job: list[str | Path] = [*mpi.command(2), "apptainer", "exec", image, "/usr/bin/python3", person.script]
    outcome = person.run(person.command, "run", "--profile", "mine", "--", *forgetting, *job)
    assert (outcome.status, outcome.lines()) == (0, served("here")), outcome.stderr


def test_run_serves_pythons_of_the_host(prefix: Path, mpi: Mpi, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(PROGRAM)
    report = tmp_path / "report.json"
    environment = clean_environment(
        **mpi.environment,
        MPI4PY_LIBMPI=str(mpi.library),
        MPIIMPORT="force",
        MPIIMPORT_REPORT=str(report),
        XDG_CACHE_HOME=str(tmp_path),
    )
    line = [str(prefix / "bin" / "mpiimport"), "run", *mpi.command(2), sys.executable, "app.py"]
    outcome = run(line, environment, 120, tmp_path)
    assert (outcome.status, outcome.lines()) == (0, served(None)), outcome.stderr
    assert json.loads(report.read_text())["ranks"] == 2


def test_run_switched_off_is_the_launcher_alone(prefix: Path, tmp_path: Path) -> None:
    plain = clean_environment(MPIIMPORT="0")
    line = [str(prefix / "bin" / "mpiimport"), "run", "--profile", "none", "--", "env", "-u", "_"]
    outcome = run(line, plain, 60, tmp_path)
    expected = run(["env", "-u", "_"], plain, 60, tmp_path)
    assert outcome.lines() == expected.lines()
    nowhere = run([*line[:2], "--", "no-such-launcher"], clean_environment(), 60, tmp_path)
    assert (nowhere.status, nowhere.ours()) == (127, ["mpiimport: no-such-launcher: command not found"])
