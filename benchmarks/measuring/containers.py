"""Containers for benchmarks: runtime, images, identities, and the environment of their ranks."""

import os
import pwd
import shutil
from dataclasses import dataclass
from pathlib import Path

from lab.provisioning import Unavailable, provision, provisioned_images
from lab.ranks import Mpi, run

# The number of the capability in capability(7) that some machines' root lacks.
CAP_SYS_RESOURCE = 24


@dataclass(frozen=True)
class Containers:
    """A runtime, images, and the MPI outside; ``user``: who mounts a SIF by squashfuse, empty where nobody can."""

    prefix: Path
    mpi: Mpi
    runtime: Path
    images: Path
    user: str

    def environment(self, user: str) -> dict[str, str]:
        account = pwd.getpwnam(user)
        settings = {
            "HOME": account.pw_dir,
            "PATH": f"{self.runtime.parent}:/usr/bin:/bin:/usr/sbin:/sbin",
            "MPI4PY_LIBMPI": "/opt/mpich/lib/libmpi.so.12",
        }
        if account.pw_uid:
            # What MPICH needs between user namespaces; the profile sets it too, but a plain run has no profile.
            settings |= {"MPIR_CVAR_CH4_CMA_ENABLE": "0", "UCX_POSIX_USE_PROC_LINK": "n"}
        else:
            settings |= without_lacking_capability(self.runtime)
        return settings


def find_containers(prefix: Path, mpi: Mpi) -> Containers:
    """Find the runtime, and provision images and what else containers need. Raises Unavailable."""
    if not runtime_is_here():
        raise Unavailable("neither apptainer nor singularity is on PATH, nor one of the tests in the cache")
    runtime = Path(provision("apptainer.sh"))
    return Containers(prefix, mpi, runtime, provisioned_images("py", "py.sif"), squashfuse_user(prefix))


def runtime_is_here() -> bool:
    directories = [directory for directory in os.get_exec_path() if Path(directory).name != "shim"]
    if any(shutil.which(name, path=os.pathsep.join(directories)) for name in ("apptainer", "singularity")):
        return True
    cache = Path(os.environ.get("MPIIMPORT_LAB_CACHE") or "/var/cache/mpiimport")
    return any(cache.glob("apptainer-*/bin/apptainer"))


def squashfuse_user(prefix: Path) -> str:
    """Return an ordinary user that can mount SIF images and read the prefix; empty where there is none."""
    try:
        provision("fuse.sh")
        if os.geteuid():
            return pwd.getpwuid(os.geteuid()).pw_name
        user = provision("user.sh")
    except Unavailable:
        return ""
    reads = run(["runuser", "-u", user, "--", "test", "-r", str(prefix / "ready")], dict(os.environ), 30)
    return user if reads.status == 0 else ""


def without_lacking_capability(runtime: Path) -> dict[str, str]:
    """Return what keeps root's containers from insisting on a capability that root may lack here."""
    return {} if has_capability(CAP_SYS_RESOURCE) else {f"{runtime.name.upper()}_DROP_CAPS": "CAP_SYS_RESOURCE"}


def has_capability(number: int) -> bool:
    """Whether this process could give the capability to a child. proc(5), CapBnd."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapBnd:"):
            return bool(int(line.split()[1], 16) >> number & 1)
    return True
