"""Which file systems a process sees: another process may have others mounted, or another root."""

from .. import open, os
from ..digest import digest

MOUNTS, ROOT = "/proc/self/ns/mnt", "/"


def view() -> bytes:
    """Return a digest that differs between processes that may see different files by one path. Raises OSError.

    proc(5): ``ns/mnt``, and the mount of the root in ``fdinfo``. It says nothing of links below /proc/self.
    """
    root = os.open(ROOT, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with open(f"/proc/self/fdinfo/{root}", "rb") as stream:
            mount = [line for line in stream if line.startswith(b"mnt_id:")]
        status = os.fstat(root)
    finally:
        os.close(root)
    return digest(repr((os.readlink(MOUNTS), mount, status.st_dev, status.st_ino)).encode())
