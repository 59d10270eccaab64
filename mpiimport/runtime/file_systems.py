"""The type of a file system, and which types are those of one node."""

from . import open, os, time
from .clock import SECOND

# What tells the container's image from all others of the machine, where the launch plan knows it. It begins with
# IMAGE_FILE, with IMAGE_LAYERS for an image of podman's or docker's, or with the type of the file system that holds a
# directory which is the image; a colon follows. Behind a semicolon each stand image files that are bound into the
# container: where, in hexadecimal digits, and, behind an equals sign, what tells the file from others. Behind a space
# stands what tells the container's mounts from others.
# With IMAGE_LAYERS it is a time (ns): since then the image has not changed, and before that the container had not. A
# third word tells there how the container is confined.
IMAGE, IMAGE_FILE, IMAGE_LAYERS = "_MPIIMPORT_IMAGE", "file", "layers"
# As what image files are bound that never change.
SQUASHFS = frozenset({"squashfs", "fuse.squashfuse", "fuse.squashfuse_ll"})
# What lays layers over each other.
OVERLAY = "overlay"
LOCAL_FILE_SYSTEMS = frozenset(
    {"bcachefs", "btrfs", "erofs", "ext2", "ext3", "ext4", "f2fs", "ramfs", "squashfs", "tmpfs", "xfs", "zfs"}
)
# Those that are no images: a node has its own, and one cache of it.
DISKS = LOCAL_FILE_SYSTEMS - {"erofs", "squashfs"}
# Nanoseconds. Others round times, and their clocks differ a little. The kernel's own, by which it stamps what is on
# disks, ticks 100 times a second at least.
ROUNDED, TICK, FINE = 2 * SECOND, SECOND // 10, SECOND // 1000


def image() -> tuple[str, str]:
    """Return what tells the image of this container, and its mounts, from others; empty where nothing says so."""
    told, _, mounts = os.environ.get(IMAGE, "").partition(" ")
    return told, mounts


def container_made() -> int | None:
    """Return the time (ns) before which a container of podman's or docker's had changed nothing of its image."""
    told, rest = image()
    return int(rest.split()[0]) if told.startswith(IMAGE_LAYERS + ":") else None


def image_on() -> str:
    """Return IMAGE_FILE, IMAGE_LAYERS, or the type of the image's file system; empty if nothing says so."""
    return image()[0].partition(":")[0]


def file_system(path: str) -> str:
    """Return the type of the file system that holds ``path``; empty where nothing shows it."""
    return mount_of(path)[0]


def rest_of(kind: str, changed: int) -> int:
    """Return for how long (ns) a path must have been left alone, so that each later change gives it another time.

    ``kind``: type of its file system; ``changed``: the time that it has now (ns).
    """
    return TICK if kind in DISKS and changed % FINE else ROUNDED


def wait_for_rest(changed: dict[str, int]) -> None:
    """Wait until paths have been left alone for that long. ``changed``: path -> its time (ns).

    One that is ahead of the clock is passed over.
    """
    now = time.time_ns()
    recent = ((path, at) for path, at in changed.items() if 0 <= now - at < ROUNDED)
    waits = [at + rest_of(file_system(os.path.realpath(path)), at) + TICK - now for path, at in recent]
    if max(waits, default=0) > 0:
        time.sleep(max(waits) / SECOND)


def places_of_bound_images() -> list[str]:
    """Return where image files lie that are bound, as the caller of this container says."""
    _, *bound = image()[0].split(";")
    return [os.fsdecode(bytes.fromhex(one.partition("=")[0])) for one in bound]


def mount_of(path: str) -> tuple[str, str]:
    """Return the type, and the device, of what is mounted where ``path`` lies; empty where nothing shows it."""
    return mount_at(path)[1:]


def mount_at(path: str) -> tuple[str, str, str]:
    """Return where that is mounted, too. proc(5), mountinfo."""
    best, place, kind, device = -1, "", "", ""
    try:
        with open("/proc/self/mountinfo", "rb") as stream:
            lines = stream.read().splitlines()
    except OSError:
        return "", "", ""
    path = os.path.abspath(path)
    for line in lines:
        fields = line.split(b" ")
        mount = os.fsdecode(fields[4].replace(b"\\040", b" "))
        if len(mount) >= best and (path == mount or path.startswith(mount.rstrip("/") + "/")):
            best, place = len(mount), mount
            kind, device = fields[fields.index(b"-") + 1].decode(), fields[2].decode()
    return place, kind, device
