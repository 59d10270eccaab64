"""`mpiimport doctor` says what a job here would use, and what is wrong with its remedy, in one screen."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome
from tests.conftest import ROOT, Job, write_profile

SCREEN = 24, 110
Doctor = Callable[..., Outcome]


@pytest.fixture
def doctor(job: Job, mpich: Mpi) -> Doctor:
    """Runs it for the Python of the tests, with MPICH at hand, behind the directories of ``front``."""

    def examine(*words: str, python: str | Path = sys.executable, front: Path | str = "", **changes: str) -> Outcome:
        path = f"{mpich.prefix / 'bin'}:/usr/bin:/bin"
        environment = job.environment(mpich, **{"PATH": f"{front}:{path}" if front else path, **changes})
        return job.tool("doctor", "--python", python, *words, seconds=120, **environment)

    return examine


def facts(outcome: Outcome) -> dict[str, str]:
    """The report by its labels, wrapped lines joined."""
    found: dict[str, str] = {}
    label = ""
    for line in outcome.stdout.splitlines():
        label = line[:12].strip() or label
        found[label] = f"{found[label]} {line[12:]}" if label in found else line[12:]
    return found


def test_a_sound_machine_fits_one_screen(doctor: Doctor, mpich: Mpi, prefix: Path) -> None:
    outcome = doctor()
    assert outcome.status == 0, outcome.stdout + outcome.stderr
    lines = outcome.stdout.splitlines()
    assert len(lines) <= SCREEN[0] and max(map(len, lines)) <= SCREEN[1]
    found = facts(outcome)
    assert sys.executable in found["python"] and sys.prefix in found["python"]
    assert "(the tree's)" in found["mpi4py"]
    assert "ABI of mpich" in found["libmpi"] and str(mpich.library) in found["libmpi"]
    assert "HYDRA" in found["launcher"]
    assert found["store"].startswith("/dev/shm, tmpfs, ")
    assert {"many nodes", "one node", "containers", "fuse"} <= set(found)
    assert "WRONG" not in found


def test_every_line_is_documented(doctor: Doctor) -> None:
    page = (ROOT / "docs" / "doctor.md").read_text()
    for label in facts(doctor()):
        assert f"\n    {label:12}" in page, label


def test_cached_stores_are_counted(doctor: Doctor, job: Job, tmp_path: Path) -> None:
    store = tmp_path / "stores"
    store.mkdir()
    assert facts(doctor(MPIIMPORT_STORE=str(store)))["cache"].startswith("no stores yet")
    filled = job.keep(job.script("import json"), MPIIMPORT_STORE=str(store))
    assert filled.status == 0, filled.stderr
    assert facts(doctor(MPIIMPORT_STORE=str(store)))["cache"].startswith("stores: 1, ")


def test_keeping_is_recommended_only_where_it_works(doctor: Doctor, tmp_path: Path) -> None:
    store = tmp_path / "stores"
    store.mkdir()
    place = store / f"mpiimport-cache.{os.geteuid()}"
    place.mkdir(mode=0o755)
    refused = facts(doctor(MPIIMPORT_STORE=str(store)))["cache"]
    assert refused.startswith(f"no stores can be kept: {place} is no directory that only its owner can use"), refused
    if os.geteuid() == 0:
        os.chown(place, 65534, 65534)
        refused = facts(doctor(MPIIMPORT_STORE=str(store)))["cache"]
        assert refused.startswith(f"no stores can be kept: {place} belongs to user 65534; name another"), refused
    place.rmdir()
    assert "MPIIMPORT_CACHE=auto" in facts(doctor(MPIIMPORT_STORE=str(store)))["cache"]
    assert "session start" in facts(doctor(MPIIMPORT_STORE=str(store), SLURM_JOB_ID="7"))["cache"]


def test_a_profile_that_launches_pass_over_is_wrong(doctor: Doctor, tmp_path: Path) -> None:
    own = tmp_path / "config" / "mpiimport" / "profiles"
    own.mkdir(parents=True)
    variables = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    assert doctor(**variables).status == 0
    default = write_profile(own / "default.yaml", "mounds: []\n")
    outcome = doctor(**variables)
    assert outcome.status == 1 and f"{default}:4" in facts(outcome)["WRONG"], outcome.stdout
    default.unlink()
    own.chmod(0o777)
    outcome = doctor(**variables)
    assert outcome.status == 1 and f"{own} has mode 0777" in facts(outcome)["WRONG"], outcome.stdout


def test_whether_it_helps_is_what_a_job_would_decide(doctor: Doctor, job: Job, mpich: Mpi) -> None:
    served = job.run(mpich, 2, "-c", "pass", MPIIMPORT="1")
    reason = served.ours()[0].removeprefix("mpiimport: running as plain Python: ")
    assert facts(doctor())["one node"] == f"won't help here: {reason}"
    assert facts(doctor(MPIIMPORT="force"))["one node"] == "would be served"


def test_a_store_leaves_nothing_behind(doctor: Doctor, stores: Callable[[], list[Path]]) -> None:
    before = stores()
    doctor()
    assert stores() == before


@pytest.mark.parametrize(
    ("changes", "cause", "remedy"),
    [
        ({"python": "/nowhere/python3"}, "cannot run /nowhere/python3", "No such file or directory"),
        ({"MPI4PY_LIBMPI": "/nowhere/libmpi.so.12"}, "mpi4py does not load", "No such file"),
        ({"MPIIMPORT_STORE": "/proc"}, "no place for the store: /proc", "name one with MPIIMPORT_STORE"),
        ({"MPIIMPORT_INIT": "off"}, "no job would be served: MPI is not to be started", "MPIIMPORT_INIT=off"),
        ({"MPIIMPORT_READERS": "many"}, "no job would be served", "MPIIMPORT_READERS takes a number"),
    ],
    ids=["no python", "no library", "no store", "switched off", "odd option"],
)
def test_what_is_wrong_is_said_with_its_remedy(
    doctor: Doctor, changes: dict[str, str], cause: str, remedy: str
) -> None:
    outcome = doctor(**changes)
    assert outcome.status == 1
    assert cause in facts(outcome)["WRONG"] and remedy in facts(outcome)["WRONG"], outcome.stdout


def test_a_launcher_of_another_mpi_is_wrong(doctor: Doctor, mpis: dict[str, Mpi]) -> None:
    outcome = doctor(MPI4PY_LIBMPI=str(mpis["openmpi"].library))
    assert outcome.status == 1
    assert "starts jobs of mpich, and the library is openmpi's: every rank would be 0 of 1" in facts(outcome)["WRONG"]


def test_no_launcher_is_wrong(doctor: Doctor, tmp_path: Path) -> None:
    for tool in ("dirname", "readlink"):
        (tmp_path / tool).symlink_to(f"/usr/bin/{tool}")
    outcome = doctor(PATH=str(tmp_path))
    assert outcome.status == 1
    assert "is on PATH: load the module of the MPI" in facts(outcome)["WRONG"]


def test_a_launcher_that_fails_has_no_version(doctor: Doctor, tmp_path: Path) -> None:
    srun = tmp_path / "srun"
    srun.write_text(
        "#!/bin/sh\necho 'srun: error: no DNS SRV record' >&2; echo 'srun: fatal: no configuration' >&2; exit 1\n"
    )
    srun.chmod(0o755)
    outcome = doctor(front=tmp_path)
    assert outcome.status == 0, outcome.stdout
    assert facts(outcome)["launcher"].endswith(f"; it does not answer --version: srun: fatal: no configuration, {srun}")


def test_a_python_that_is_not_served_is_wrong(doctor: Doctor, tmp_path: Path) -> None:
    old = tmp_path / "python"
    old.write_text(
        "#!/bin/sh\n"
        f'exec {sys.executable} -c "import runpy, sys; sys.version_info = (3, 9, 2); sys.argv = sys.argv[1:]; '
        'sys.path[:0] = [None]; runpy.run_path(sys.argv[0], run_name=\'__main__\')" "$@"\n'
    )
    old.chmod(0o755)
    outcome = doctor(python=old)
    assert outcome.status == 1
    assert "only CPython 3.10 and newer is served" in facts(outcome)["WRONG"], outcome.stdout


def test_a_profile_is_applied_or_why_it_cannot_be(doctor: Doctor, tmp_path: Path) -> None:
    profile = write_profile(tmp_path / "tight.yaml", "service: {store: /proc}\n")
    assert "no place for the store: /proc" in facts(doctor("--profile", str(profile)))["WRONG"]
    outcome = doctor("--profile", "nope")
    assert outcome.status == 1 and 'there is no profile "nope" (known: ' in outcome.stderr, outcome


def a_runtime(directory: Path, name: str, version: str, plugins: str) -> Path:
    """A stand-in that answers ``--version`` and ``plugin list``."""
    runtime = directory / "bin" / name
    runtime.parent.mkdir()
    runtime.write_text(f"#!/bin/sh\ncase \"$*\" in --version) {version} ;; 'plugin list') {plugins} ;; esac\n")
    runtime.chmod(0o755)
    return runtime


def test_the_shim_is_found_and_told_from_the_runtime(doctor: Doctor, prefix: Path, tmp_path: Path) -> None:
    runtime = a_runtime(tmp_path, "apptainer", "echo apptainer version 9.9", "exit 1")
    without = facts(doctor(front=runtime.parent))
    assert f"apptainer version 9.9, {runtime}" in without["containers"]
    assert without["entry point"].startswith(f"no --mpiimport yet: export PATH={prefix / 'shim'}:$PATH")
    shimmed = facts(doctor(front=f"{prefix / 'shim'}:{runtime.parent}"))
    assert shimmed["containers"] == without["containers"]
    assert shimmed["entry point"] == f"--mpiimport by the shim in {prefix / 'shim'}"


# What Apptainer 1.3 to 1.5 and SingularityCE 4 print: `plugin_list_linux.go` is the same in all of them.
HEAD = "ENABLED  NAME"
OURS = "mpiimport.org/plugin"


@pytest.mark.parametrize(
    ("lines", "has_it"),
    [
        ([HEAD, f"    yes  {OURS}"], True),
        ([HEAD, "    yes  github.com/site/log-plugin", f"    yes  {OURS}", "     no  sylabs.io/other"], True),
        ([HEAD, f"     no  {OURS}"], False),
        ([HEAD, "    yes  example.org/not-mpiimport.org/plugin"], False),
        (["There are no plugins installed."], False),
    ],
    ids=["alone", "among others", "disabled", "another", "none"],
)
@pytest.mark.parametrize(
    ("name", "version"), [("apptainer", "apptainer version 1.3.6"), ("singularity", "singularity-ce version 4.3.7")]
)
def test_the_plugin_is_an_entry_point_where_it_is_enabled(
    doctor: Doctor, tmp_path: Path, name: str, version: str, lines: list[str], has_it: bool
) -> None:
    listed = "; ".join(f"echo '{line}'" for line in lines)
    runtime = a_runtime(tmp_path, name, f"echo {version}", listed)
    found = facts(doctor(front=runtime.parent))
    assert f"{version}, {runtime}" in found["containers"]
    assert found["entry point"].startswith("--mpiimport by the plugin" if has_it else "no --mpiimport yet")


def test_a_runtime_built_without_plugins_has_none(doctor: Doctor, tmp_path: Path) -> None:
    refusal = "echo 'FATAL:   unknown command' >&2; exit 255"
    runtime = a_runtime(tmp_path, "apptainer", "echo apptainer version 1.5.0-1.el9", refusal)
    outcome = doctor(front=runtime.parent)
    assert facts(outcome)["entry point"].startswith("no --mpiimport yet")
    assert outcome.status == 0, outcome.stdout
