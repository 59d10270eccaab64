"""``mpiimport profile detect``: a profile for this machine, proposed from what can be seen of it."""

import argparse
import re
import sys
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from ..machine.seen import Machine, Mount, captured_machine, this_machine
from ..planner import Value, names, values


@dataclass(frozen=True)
class Signs:
    """What gives an MPI away: loaded modules by name, variables that are set, libraries by soname.

    ``profiles``: those for this MPI; the first that is known is taken.
    """

    profiles: tuple[str, ...]
    modules: tuple[str, ...]
    variables: tuple[str, ...]
    libraries: tuple[str, ...] = ()


# The MPIs that bring another's library, too, stand before it.
MPIS = (
    Signs(
        ("cray-mpich", "cray"),
        ("cray-mpich", "cray-mpich-abi"),
        ("CRAY_MPICH_DIR", "CRAY_MPICH2_DIR"),
        ("libmpi_cray.so.12",),
    ),
    Signs(("intel",), ("impi", "intel-mpi", "intelmpi", "intel-oneapi-mpi", "intel/mpi"), ("I_MPI_ROOT",)),
    Signs(("mvapich",), ("mvapich", "mvapich2", "mvapich-plus"), ("MVAPICH_DIR", "MV2_HOME")),
    Signs(
        ("openmpi",),
        ("openmpi", "ompi", "hpcx", "spectrum-mpi"),
        ("OMPI_HOME", "OPENMPI_DIR"),
        ("libmpi.so.40", "libmpi.so.20"),
    ),
    Signs(("mpich",), ("mpich",), ("MPICH_HOME",), ("libmpi.so.12", "libmpich.so.12")),
)
# File systems of a whole machine, which runtimes do not show to containers by themselves; with or without "fuse.".
SHARED = frozenset(
    {
        "afs",
        "beegfs",
        "ceph",
        "daos",
        "dvs",
        "glusterfs",
        "gpfs",
        "lustre",
        "nfs",
        "nfs4",
        "orangefs",
        "panfs",
        "wekafs",
    }
)
# Each repository is a mount of its own there, of the kind "fuse", and made when it is first looked at.
CVMFS = "/cvmfs"
# What an image has itself, below "/".
OF_IMAGES = frozenset(
    {"", "bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32"}
    | {"proc", "root", "run", "sbin", "sys", "tmp", "usr", "var"}
)
# A store of numpy and scipy.
LEAST_ROOM = 150 << 20
UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def add_parser(kinds: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = kinds.add_parser("detect", help="propose a profile for this machine, on stdout")
    parser.add_argument("--machine", type=Path, metavar="DIR", help="for the machine that was captured in DIR")
    parser.add_argument("--name", default="site", help="the name of the profile (default: %(default)s)")
    parser.set_defaults(run=lambda given, _: detect(given.machine, given.name))


def detect(captured: Path | None, name: str) -> int:
    machine = captured_machine(captured) if captured else this_machine()
    known, broken = names()
    for complaint in broken:
        print(f"mpiimport: {complaint}", file=sys.stderr)
    print(proposal(machine, name, known), end="")
    return 0


def proposal(machine: Machine, name: str, known: list[str]) -> str:
    """Return the text of a profile; a comment says what each of its values follows from."""
    parts = ["schema_version: 1", f"name: {name}", f"description: {machine.hostname}, as mpiimport sees it."]
    base, reasons = _made_for(machine, known)
    own = [] if base else [*_hosts(machine), *_launcher(machine)]
    if not base:
        base, more = _of_its_mpi(machine, known)
        reasons += more
    parts += [f"# {reason}" for reason in reasons]
    parts += [f"extends: {base}"] if base else []
    return "\n".join([*parts, *own, *_mounts(machine), *_store(machine)]) + "\n"


def _made_for(machine: Machine, known: list[str]) -> tuple[str, list[str]]:
    """Return the known profile that is for this machine, if one more than others; and why."""
    found = [(profile, _signs_of(machine, values(profile))) for profile in known]
    most = max((len(signs) for _, signs in found), default=0)
    best = [(profile, signs) for profile, signs in found if signs and len(signs) == most]
    if len(best) > 1:
        several = ", ".join(profile for profile, _ in best)
        return "", [f"{machine.hostname} could be a host of {several}: if it is, extend its profile"]
    return best[0] if best else ("", [])


def _signs_of(machine: Machine, said: list[Value]) -> list[str]:
    """Return what shows that a profile is for this machine; nothing where something speaks against it."""
    hosts = [machine.hostname, machine.hostname.split(".")[0]]
    signs = []
    for value in said:
        if value.key == "hosts":
            patterns = [pattern for pattern in value.value if any(fnmatchcase(host, pattern) for host in hosts)]
            if not patterns:
                return []
            signs.append(f"{machine.hostname} is one of its hosts, {patterns[0]} ({value.place})")
        elif value.key == "host_variables":
            for name, pattern in value.value.items():
                if not fnmatchcase(machine.environ.get(name, ""), pattern):
                    return []
                signs.append(f"{name} is {pattern} ({value.place})")
    return signs


def _of_its_mpi(machine: Machine, known: list[str]) -> tuple[str, list[str]]:
    """Return the profile for the MPI that was seen: loaded by a module, named by a variable, or installed."""
    for seen_of in (_modules, _variables, _libraries):
        for signs in MPIS:
            seen = seen_of(machine, signs)
            profile = next((profile for profile in signs.profiles if profile in known), "")
            if seen and profile:
                return profile, seen
    return "", ["no MPI was found: load its module and detect again, or name the profile of its kind with extends"]


def _modules(machine: Machine, signs: Signs) -> list[str]:
    loaded = [module for module in machine.modules if {module, module.rpartition("/")[0]} & set(signs.modules)]
    return [f"the module {module} is loaded" for module in loaded]


def _variables(machine: Machine, signs: Signs) -> list[str]:
    return [f"{name} is {machine.environ[name]!r}" for name in signs.variables if name in machine.environ]


def _libraries(machine: Machine, signs: Signs) -> list[str]:
    return [f"ldconfig knows {machine.libraries[name]}" for name in signs.libraries if name in machine.libraries]


def _hosts(machine: Machine) -> list[str]:
    pattern = re.sub(r"\d+", "*", machine.hostname.split(".")[0])
    return ["hosts:", f"  - '{pattern}'"]


def _launcher(machine: Machine) -> list[str]:
    if "SLURM_JOB_ID" in machine.environ:
        return ["# SLURM_JOB_ID is set", "launcher:", "  prefix: [srun]"]
    return []


def _mounts(machine: Machine) -> list[str]:
    home = machine.environ.get("HOME", "/root")
    entries = []
    for mount in machine.mounts:
        if Path(mount.place).is_relative_to(CVMFS):
            entries.append(_mount(CVMFS, "ro", "cvmfs"))
        elif mount.kind.removeprefix("fuse.") in SHARED and not _is_shown(mount, machine.mount_of(home), home):
            entries.append(_mount(mount.place, "ro" if "ro" in mount.options else "rw", mount.kind))
    return ["mounts:", *dict.fromkeys(entries)] if entries else []


def _mount(place: str, access: str, kind: str) -> str:
    return f"  - {{source: {place}, optional: true, options: {access}}}  # {kind}"


def _is_shown(mount: Mount, holds_home: Mount | None, home: str) -> bool:
    """Tell whether a mount had better not be a profile's.

    The runtimes themselves show a person's home, and nobody's beside it; what an image has itself must stay.
    """
    beside_home = holds_home is not None and holds_home.place == home and Path(mount.place).parent == Path(home).parent
    of_image = mount.place == "/opt" or mount.place.split("/")[1] in OF_IMAGES
    return mount == holds_home or beside_home or of_image or not _is_plain(mount.place)


def _is_plain(path: str) -> bool:
    """Tell whether a profile can name a path, and as a plain word of YAML."""
    return re.fullmatch(r"/[\w/.+-]*", path) is not None


def _store(machine: Machine) -> list[str]:
    """Name a store where /dev/shm cannot hold one with libraries, and there is a better place in memory."""
    usual, other = machine.mount_of("/dev/shm"), machine.mount_of(machine.environ.get("TMPDIR", "/tmp"))
    if usual is None or not _shortcoming(usual):
        return []
    reason = f"# /dev/shm {_shortcoming(usual)}"
    if other is None or other.kind != "tmpfs" or _shortcoming(other) or _is_passing(other.place, machine.environ):
        return [f"{reason}: name a place in memory that all jobs have, as service.store"]
    return [reason, "service:", f"  store: {other.place}"]


def _is_passing(place: str, environ: dict[str, str]) -> bool:
    """Tell whether a place is of this job or person alone, as its name says, or cannot be named in a profile."""
    words = {*re.split(r"[\W_]+", place), *re.findall(r"\d+", place)}
    for name, value in environ.items():
        if name in ("USER", "LOGNAME") or re.fullmatch(r"\w*JOB_?ID", name):
            # PBS has 4711.server.
            number = re.match(r"\d*", value)
            if value in words or (number and number[0] in words - {""}):
                return True
    return not _is_plain(place) or Path(place).is_relative_to("/run/user")


def _shortcoming(mount: Mount) -> str:
    if "noexec" in mount.options:
        return "is noexec, so that no library could be mapped from it"
    sizes = [re.fullmatch(r"size=(\d+)([kmg]?)", option) for option in mount.options]
    for size in filter(None, sizes):
        if int(size[1]) * UNITS.get(size[2], 1) < LEAST_ROOM:
            return f"has only {size[1]}{size[2]}"
    return ""
