"""What an image must not depend on, and cannot see: filters of system calls, and what a container has changed."""

import ctypes
import os
import re
from collections.abc import Iterable

from mpiimport.runtime.file_systems import IMAGE_LAYERS, container_made, image_on
from mpiimport.runtime.payload.stamps import Mounts

from ..memory_map import Refused

# prctl(2), since Linux 3.5 where it is built with CONFIG_CHECKPOINT_RESTORE.
PR_GET_TID_ADDRESS = 40
FILTERED = re.compile(r"^Seccomp:\t[^0]", re.MULTILINE)
ONE_FILTER = re.compile(r"^Seccomp_filters:\t1$", re.MULTILINE)


def refuse_unknown_filters() -> None:
    """Raise Refused where system calls are filtered by what is not known: seccomp(2). Nobody can look at a filter.

    What a library could call when it was imported, a process under another filter may not. Of podman's and docker's one
    filter the key of an image tells; a second may be inside.
    """
    with open("/proc/self/status") as stream:
        status = stream.read()
    if FILTERED.search(status) and not (image_on() == IMAGE_LAYERS and ONE_FILTER.search(status)):
        raise Refused("system calls are filtered, and it is not known how; begin where they are not")


def refuse_poor_kernel() -> None:
    """Raise Refused where the kernel does not tell what a start has to set again, and each would fail."""
    address = ctypes.c_ulong()
    if ctypes.CDLL(None, use_errno=True).prctl(PR_GET_TID_ADDRESS, ctypes.byref(address), 0, 0, 0):
        reason = os.strerror(ctypes.get_errno())
        raise Refused(f"this kernel lacks CONFIG_CHECKPOINT_RESTORE: prctl(PR_GET_TID_ADDRESS): {reason}")


def refuse_changed(paths: Iterable[str]) -> None:
    """Raise Refused where a container of podman's or docker's has changed its image: an image is for all containers."""
    made = container_made()
    if made is None:
        return
    mounts = Mounts()
    for path in paths:
        try:
            status = os.stat(path)
        except OSError:
            continue
        if status.st_ctime_ns >= made and mounts.has_in_image(path, status.st_dev):
            raise Refused(
                f"{path} has changed since this container was made, and an image is for all containers; start a new one"
            )
