"""Intel MPI in the image, and a host's MPI that a profile brings in as on a Cray: both are served."""

import shutil
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome
from lab.syscalls import rank_traces, tracer
from tests.conftest import provision, write_profile
from tests.containers.cells import Site
from tests.containers.test_main_job import PROGRAM

RANKS = 2
INTEL = "/opt/intel"
ABI = "/opt/cray/pe/mpich/8.1/ofi/gnu/12/lib-abi-mpich"
PROFILE = f"""
extends: cray-mpich
mounts:
  - {{source: TREE/opt/cray, target: /opt/cray}}
environment:
  append: {{LD_LIBRARY_PATH: {ABI}}}
mpi:
  library: {ABI}/libmpi.so.12
"""
WHICH = """
mapped = {line.split()[-1] for line in open("/proc/self/maps") if "/libmpi.so" in line}
print("mpi", *mapped, flush=True)
"""


def serve(
    site: Site, mpi: Mpi, launcher: list[str], container: list[str], inner: list[str], program: str, **changes: str
) -> Outcome:
    """Run the program in the sandbox and check that only root asks for the tree."""
    script = site.script("root", program)
    workspace = script.parent
    shim = [site.apptainer(), "exec", *container, site.images / "py"]
    command = [*tracer(workspace), *launcher, *shim, *inner, site.python("sandbox"), script]
    outcome = site.run(command, mpi, seconds=200, directory=workspace, MPIIMPORT="force", **changes)
    assert outcome.status == 0, outcome.stderr
    done = [line for line in outcome.lines() if line.startswith("done")]
    assert done == [f"done {rank} {RANKS} StoreSourceLoader" for rank in range(RANKS)], outcome.stderr
    assert outcome.ours() == []
    (other,) = [found for found in rank_traces(workspace) if not found.is_root()]
    assert other.while_served(site.paths("sandbox")) == []
    return outcome


@pytest.mark.full
@pytest.mark.parametrize("mode", ["hybrid", "contained"])
def test_intel_mpi_is_served(site: Site, mpich: Mpi, mode: str) -> None:
    home = provision("intel_mpi.sh")
    container = ["--mpiimport=intel", "--bind", f"{home}:{INTEL}:ro"]
    outside = [str(home / "bin" / "mpiexec"), "-n", str(RANKS)] if mode == "hybrid" else []
    inside = [] if outside else [f"{INTEL}/bin/mpiexec", "-n", str(RANKS)]
    settings = {"MPI4PY_LIBMPI": f"{INTEL}/lib/libmpi.so.12", "I_MPI_ROOT": INTEL}
    serve(site, mpich, outside, container, inside, PROGRAM, **settings)


def test_a_profile_brings_the_hosts_mpi_into_the_image(site: Site, mpich: Mpi, tmp_path: Path) -> None:
    """The host's tree is laid out as a Cray's and holds a library with the ABI of MPICH."""
    libraries = tmp_path / ABI.lstrip("/")
    shutil.copytree(mpich.prefix / "lib", libraries, symlinks=True)
    write_profile(tmp_path / "mpiimport/profiles/injected.yaml", PROFILE.replace("TREE", str(tmp_path)))
    outcome = serve(
        site, mpich, mpich.command(RANKS), ["--mpiimport=injected"], [], PROGRAM + WHICH, XDG_CONFIG_HOME=str(tmp_path)
    )
    used = {line for line in outcome.lines() if line.startswith("mpi ")}
    assert len(used) == 1, used
    assert used.pop().startswith(f"mpi {ABI}/libmpi.so.12")
