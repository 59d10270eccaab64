"""How much memory the control groups of this process leave it (cgroups(7)): files in memory count as much as data."""

from .. import open, os
from ..file_systems import file_system
from ..size import Size, in_words

CGROUPS = "/sys/fs/cgroup"
OWN_GROUPS = "/proc/self/cgroup"
# What the first version of cgroups writes for "no limit" is a number near 2**63.
UNLIMITED = 1 << 60
# Statistics of memory that is given back when it is needed; the first version has them with the children's added up.
RECLAIMABLE = ("inactive_file", "active_file")
# File systems whose files are memory, which a job's limit counts and the kernel cannot take back.
IN_MEMORY = ("tmpfs", "ramfs")

# Where MPI's messages within a node and shared windows lie (shm_overview(7)), and what always stays free there for
# them: whoever writes into a full one is ended by SIGBUS.
SHARED_MEMORY, PART_OF_MPI = "/dev/shm", 64 << 20


def excess(needed: int, directory: str, most: Size) -> str:
    """Return the limit that ``needed`` bytes of files in ``directory`` would exceed; empty where they exceed none.

    ``most``: what they may take; a share is one of what the file system has free and, in memory, the job's limit
    leaves. Raises OSError.
    """
    return next((words for limit, words in _limits(directory, most, 0) if needed > limit), "")


def room(directory: str, most: Size, taken: int = 0) -> int:
    """Return the bytes of files that ``directory`` has room for; ``most`` as for ``excess``. Never raises.

    ``taken``: bytes of files there that count for ``most``.
    """
    try:
        return max(min(limit for limit, _ in _limits(directory, most, taken)), 0)
    except OSError:
        return 0


def _limits(directory: str, most: Size, taken: int) -> list[tuple[int, str]]:
    """Return what files may still take there, each limit with the words for it. Raises OSError."""
    status = os.statvfs(directory)
    free = status.f_bavail * status.f_frsize
    left = memory_left() if file_system(directory) in IN_MEMORY else None
    whole = (free, f"the {in_words(free)} that are free there")
    if left is not None and left < free:
        whole = (left, f"the {in_words(left)} that the memory limit of this job leaves")
    allowed = most.of(whole[0] + taken) - taken
    limits = [(allowed, f"{most} of {whole[1]}" if most.is_share() else f"MPIIMPORT_STORE_SIZE={most} allows"), whole]
    if _is_shared_with_mpi(directory):
        limits.append((free - PART_OF_MPI, f"what leaves MPI {in_words(PART_OF_MPI)} of the {in_words(free)} there"))
    return limits


def _is_shared_with_mpi(directory: str) -> bool:
    """Tell whether MPI takes its shared memory from the file system of ``directory``."""
    try:
        return os.stat(directory).st_dev == os.stat(SHARED_MEMORY).st_dev
    except OSError:
        return False


def memory_left(cgroups: str = CGROUPS, own_groups: str = OWN_GROUPS) -> int | None:
    """Return the bytes that the tightest group still leaves; None where none sets a limit, or none can be seen.

    A container may see its own group as the topmost, whatever its name says, so groups that are not there are skipped.
    """
    lefts = []
    for line in (_read(own_groups) or "").splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers:
            # The second version, alone or beside the first.
            tops, names, prefix = [cgroups, f"{cgroups}/unified"], ("memory.max", "memory.current"), ""
        elif "memory" in controllers.split(","):
            tops, prefix = [f"{cgroups}/memory"], "total_"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes")
        else:
            continue
        parts = [part for part in path.split("/") if part]
        for depth in range(len(parts) + 1):
            group = "/".join(["", *parts[:depth]])
            lefts += [_left(top + group, *names, prefix) for top in tops]
    return min((left for left in lefts if left is not None), default=None)


def _left(group: str, limit_name: str, usage_name: str, prefix: str) -> int | None:
    limit, usage = _number(f"{group}/{limit_name}"), _number(f"{group}/{usage_name}")
    if limit is None or usage is None or limit >= UNLIMITED:
        return None
    fields = (line.split() for line in (_read(f"{group}/memory.stat") or "").splitlines())
    statistics = {field[0]: int(field[1]) for field in fields if len(field) == 2 and field[1].isdigit()}
    reclaimable = sum(statistics.get(prefix + name, 0) for name in RECLAIMABLE)
    return max(limit - max(usage - reclaimable, 0), 0)


def _number(path: str) -> int | None:
    text = (_read(path) or "").strip()
    return int(text) if text.isascii() and text.isdigit() else None


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as stream:
            return stream.read()
    except (OSError, UnicodeDecodeError):
        return None
