"""`mpiimport profile detect` proposes a profile that the launch side takes, from what a machine shows."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab.ranks import Outcome, clean_environment, run
from tests.conftest import ROOT

MACHINES = sorted(path.parent for path in (ROOT / "tests" / "support" / "machines").glob("*/hostname"))
SHM = "tmpfs /dev/shm tmpfs rw,nosuid,nodev{options},size={size} 0 0"
LUSTRE = "10.0.0.1@tcp:/scratch /scratch lustre rw,noatime,flock 0 0"
ROOT_MOUNT = "/dev/sda1 / ext4 rw 0 0"
JOB_MEMORY = "tmpfs /run/job tmpfs rw,nosuid,size=8388608k 0 0"
Propose = Callable[..., dict[str, Any]]


@pytest.fixture
def command(prefix: Path, tmp_path: Path) -> Callable[..., Outcome]:
    environment = clean_environment(XDG_CONFIG_HOME=str(tmp_path))
    return lambda *words: run([str(prefix / "bin" / "mpiimport"), "profile", *words], environment, 60, tmp_path)


@pytest.fixture
def propose(command: Callable[..., Outcome], tmp_path: Path) -> Propose:
    """What is proposed for a machine with these files, which the launch side must accept."""

    def proposal(hostname: str = "node17.cluster", **files: str) -> dict[str, Any]:
        machine = tmp_path / "machine"
        machine.mkdir(exist_ok=True)
        for old in machine.iterdir():
            old.unlink()
        (machine / "hostname").write_text(f"{hostname}\n")
        for name, text in files.items():
            (machine / name).write_text(text)
        return accepted(command, tmp_path, machine)

    return proposal


def accepted(command: Callable[..., Outcome], tmp_path: Path, machine: Path) -> dict[str, Any]:
    outcome = command("detect", "--machine", str(machine))
    assert outcome.status == 0, outcome.stderr
    path = tmp_path / "site.yaml"
    path.write_text(outcome.stdout)
    shown = command("show", str(path))
    assert shown.status == 0, outcome.stdout + shown.stderr
    found: dict[str, Any] = yaml.safe_load(outcome.stdout)
    return found


@pytest.mark.parametrize(
    ("files", "base"),
    [
        ({"modules": "gcc/12\nopenmpi/4.1.5\n"}, "openmpi"),
        ({"modules": "impi/2021.9\n"}, "intel"),
        ({"modules": "mpich\n"}, "mpich"),
        ({"modules": "craype/2.7\ncray-mpich/8.1.28\n"}, "cray"),
        ({"environment": "I_MPI_ROOT=/opt/intel/mpi\n"}, "intel"),
        ({"environment": "CRAY_MPICH_DIR=/opt/cray/pe/mpich/8.1.28/ofi/gnu/12.3\n"}, "cray"),
        ({"ldconfig": "\tlibmpi.so.40 (libc6,x86-64) => /usr/lib64/libmpi.so.40\n"}, "openmpi"),
        ({"ldconfig": "\tlibmpich.so.12 (libc6,x86-64) => /usr/lib64/libmpich.so.12\n"}, "mpich"),
        # What is loaded beats what is installed.
        ({"modules": "openmpi/5\n", "ldconfig": "\tlibmpi.so.12 (libc6) => /usr/lib/libmpi.so.12\n"}, "openmpi"),
        # Cray's own library stands beside MPICH's names.
        (
            {"ldconfig": "\tlibmpi.so.12 (libc6) => /a/libmpi.so.12\n\tlibmpi_cray.so.12 (libc6) => /a/x\n"},
            "cray",
        ),
    ],
)
def test_the_mpi_that_is_seen_is_extended(propose: Propose, files: dict[str, str], base: str) -> None:
    assert propose(**files)["extends"].startswith(base)


def test_without_an_mpi_the_proposal_says_so(propose: Propose, command: Callable[..., Outcome], tmp_path: Path) -> None:
    assert "extends" not in propose()
    said = command("detect", "--machine", str(tmp_path / "machine")).stdout
    assert "# no MPI was found: load its module and detect again" in said


def test_a_profile_that_names_the_host_is_extended(propose: Propose, tmp_path: Path) -> None:
    own = tmp_path / "mpiimport" / "profiles"
    own.mkdir(parents=True)
    (own / "big.yaml").write_text("schema_version: 1\nname: big\ndescription: x\nhosts: ['nid[0-9]*']\n")
    assert propose("nid004711", modules="openmpi/4\n")["extends"] == "big"
    assert propose("login3", modules="openmpi/4\n")["extends"] == "openmpi"


def test_the_host_pattern_covers_its_neighbours(propose: Propose) -> None:
    assert propose("node17.cluster.example")["hosts"] == ["node*"]


def test_shared_file_systems_are_mounted_where_a_node_has_them(propose: Propose) -> None:
    assert propose(mounts=f"{ROOT_MOUNT}\n{LUSTRE}\n")["mounts"] == [
        {"source": "/scratch", "optional": True, "options": "rw"}
    ]
    read_only = LUSTRE.replace("rw,noatime", "ro,noatime")
    assert propose(mounts=read_only)["mounts"][0]["options"] == "ro"
    assert "mounts" not in propose(mounts=ROOT_MOUNT)


SHARED = {
    "lustre": LUSTRE,
    "dvs": "/global/common /scratch dvs rw,blksize=524288 0 0",
    "nfs": "server:/export /scratch nfs rw,vers=3 0 0",
    "nfs4": "server:/export /scratch nfs4 rw,vers=4.2 0 0",
    "gpfs": "scratch /scratch gpfs rw 0 0",
    "daos": "dfuse /scratch fuse.daos rw,nosuid,nodev 0 0",
    "beegfs": "beegfs_nodev /scratch beegfs rw,cfgFile=/etc/beegfs/scratch.conf 0 0",
    "glusterfs": "server:/volume /scratch fuse.glusterfs rw 0 0",
}


@pytest.mark.parametrize("kind", SHARED)
def test_every_kind_of_shared_file_system_is_known(propose: Propose, kind: str) -> None:
    (mount,) = propose(mounts=f"{ROOT_MOUNT}\n{SHARED[kind]}\n")["mounts"]
    assert mount["source"] == "/scratch"


def test_cvmfs_is_mounted_as_a_whole_and_read_only(propose: Propose) -> None:
    # Its repositories come and go, and their kind says only that a program serves them.
    mounts = "auto.cvmfs /cvmfs autofs rw 0 0\ncvmfs2 /cvmfs/sw.example.org fuse ro,nosuid 0 0\n"
    for shown in (mounts, mounts.splitlines()[0], mounts.splitlines()[1]):
        assert propose(mounts=f"{ROOT_MOUNT}\n{shown}\n")["mounts"] == [
            {"source": "/cvmfs", "optional": True, "options": "ro"}
        ]


def test_what_an_image_has_itself_is_not_mounted_over_it(propose: Propose) -> None:
    places = ("/", "/usr", "/usr/lib64", "/etc/site", "/opt", "/var/lib", "/tmp", "/root")
    nfs = "\n".join(f"server:/export {place} nfs rw 0 0" for place in places)
    assert "mounts" not in propose(mounts=nfs)
    assert propose(mounts=f"{nfs}\nserver:/sw /opt/sw nfs ro 0 0\n")["mounts"][0]["source"] == "/opt/sw"


def test_the_homes_of_others_are_not_mounted(propose: Propose) -> None:
    homes = "\n".join(f"server:/home/{name} /home/{name} nfs4 rw 0 0" for name in ("ann", "bob", "eve"))
    assert "mounts" not in propose(mounts=f"{ROOT_MOUNT}\n{homes}\n", environment="HOME=/home/bob\n")


@pytest.mark.parametrize(("options", "size"), [(",noexec", "8388608k"), ("", "65536k")])
def test_a_poor_dev_shm_is_replaced_by_memory_of_the_job(propose: Propose, options: str, size: str) -> None:
    mounts = "\n".join((ROOT_MOUNT, SHM.format(options=options, size=size), JOB_MEMORY))
    assert propose(mounts=mounts, environment="TMPDIR=/run/job\n")["service"] == {"store": "/run/job"}
    # A disk is no better place.
    assert "service" not in propose(mounts=mounts, environment="TMPDIR=/tmp\n")


@pytest.mark.parametrize(
    ("environment", "place"),
    [
        ("SLURM_JOB_ID=4711\nTMPDIR=/run/job/4711/tmp\n", "/run/job/4711"),
        ("PBS_JOBID=4711.server\nTMPDIR=/run/pbs.4711.server.x8z\n", "/run/pbs.4711.server.x8z"),
        ("LSB_JOBID=88\nTMPDIR=/run/lsf88\n", "/run/lsf88"),
        ("USER=ann\nTMPDIR=/run/ann\n", "/run/ann"),
        ("LOGNAME=ann\nTMPDIR=/run/ann/x\n", "/run/ann"),
    ],
)
def test_a_place_of_one_job_or_person_is_no_store_of_a_machine(
    propose: Propose, command: Callable[..., Outcome], tmp_path: Path, environment: str, place: str
) -> None:
    memory = JOB_MEMORY.replace("/run/job", place)
    mounts = "\n".join((ROOT_MOUNT, SHM.format(options=",noexec", size="8388608k"), memory))
    assert "service" not in propose(mounts=mounts, environment=environment)
    said = command("detect", "--machine", str(tmp_path / "machine")).stdout
    assert "# /dev/shm is noexec" in said and "name a place in memory that all jobs have" in said


def test_the_store_is_the_place_of_the_memory_not_a_directory_of_the_job_in_it(propose: Propose) -> None:
    mounts = "\n".join((ROOT_MOUNT, SHM.format(options=",noexec", size="8388608k"), JOB_MEMORY))
    found = propose(mounts=mounts, environment="SLURM_JOB_ID=4711\nTMPDIR=/run/job/4711: x #y\n")
    assert found["service"] == {"store": "/run/job"}


def test_a_broken_profile_of_ones_own_does_not_stop_it(
    propose: Propose, command: Callable[..., Outcome], tmp_path: Path
) -> None:
    own = tmp_path / "mpiimport" / "profiles"
    own.mkdir(parents=True)
    (own / "broken.yaml").write_text("mount: []\n")
    assert propose(modules="openmpi/4\n")["extends"] == "openmpi"
    assert "the profile broken cannot be used" in command("detect").stderr


def test_a_good_dev_shm_is_left_alone(propose: Propose) -> None:
    mounts = "\n".join((ROOT_MOUNT, SHM.format(options="", size="8388608k"), JOB_MEMORY))
    assert "service" not in propose(mounts=mounts, environment="TMPDIR=/run/job\n")


def test_slurm_jobs_are_started_by_srun(propose: Propose) -> None:
    assert propose(environment="SLURM_JOB_ID=7\n")["launcher"] == {"prefix": ["srun"]}


def test_a_directory_of_no_machine_is_a_clear_error(command: Callable[..., Outcome], tmp_path: Path) -> None:
    outcome = command("detect", "--machine", str(tmp_path))
    assert outcome.status == 1 and f"{tmp_path} has no file `hostname`" in outcome.stderr


def test_this_machine_gets_a_proposal(command: Callable[..., Outcome], tmp_path: Path) -> None:
    outcome = command("detect", "--name", "here")
    path = tmp_path / "here.yaml"
    path.write_text(outcome.stdout)
    assert command("check", str(path)).status == 0, outcome.stdout


@pytest.mark.parametrize("machine", MACHINES, ids=lambda path: path.name)
def test_every_captured_machine_gets_its_profile(
    command: Callable[..., Outcome], tmp_path: Path, machine: Path
) -> None:
    made_for = (ROOT / "mpiimport" / "profiles" / f"{machine.name}.yaml").exists()
    assert accepted(command, tmp_path, machine)["extends"] == (machine.name if made_for else "openmpi")
