"""Of which type a file system is, and which types are those of one node."""

from . import open, os

LOCAL_FILE_SYSTEMS = frozenset(
    {"bcachefs", "btrfs", "erofs", "ext2", "ext3", "ext4", "f2fs", "ramfs", "squashfs", "tmpfs", "xfs", "zfs"}
)


def file_system(path: str) -> str:
    """Return the type of the file system that holds ``path``; empty where it cannot be told. proc(5), mountinfo."""
    best, kind = -1, ""
    try:
        with open("/proc/self/mountinfo", "rb") as stream:
            lines = stream.read().splitlines()
    except OSError:
        return ""
    path = os.path.abspath(path)
    for line in lines:
        fields = line.split(b" ")
        mount = os.fsdecode(fields[4].replace(b"\\040", b" "))
        if len(mount) >= best and (path == mount or path.startswith(mount.rstrip("/") + "/")):
            best = len(mount)
            kind = fields[fields.index(b"-") + 1].decode()
    return kind
