"""What can be seen of a machine, now or in a directory that was captured there.

Such a directory has the files ``hostname``, ``ldconfig`` (``ldconfig -p``), ``environment`` (``env``), ``mounts``
(/proc/self/mounts, proc(5)) and ``modules`` (those loaded, one a line); one that is not there says nothing.
"""

import os
import shutil
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ..complaint import Complaint


@dataclass(frozen=True)
class Mount:
    place: str
    kind: str
    options: list[str]


@dataclass(frozen=True)
class Machine:
    """``libraries``: file names of shared libraries by their sonames; ``modules``: loaded ones, as NAME/VERSION."""

    hostname: str
    libraries: dict[str, str]
    environ: dict[str, str]
    mounts: list[Mount]
    modules: list[str]

    def mount_of(self, path: str) -> Mount | None:
        """Return the mount that ``path`` lies in."""
        holding = [mount for mount in self.mounts if Path(path).is_relative_to(mount.place)]
        return max(holding, key=lambda mount: len(mount.place), default=None)


def this_machine() -> Machine:
    loader = shutil.which("ldconfig") or "/sbin/ldconfig"
    listing = subprocess.run([loader, "-p"], stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout
    mounts = Path("/proc/self/mounts").read_text()
    environ = dict(os.environ)
    modules = environ.get("LOADEDMODULES", "").replace(":", "\n")
    return _machine(socket.gethostname(), listing, environ, mounts, modules)


def captured_machine(directory: Path) -> Machine:
    """Raises Complaint where ``directory`` is none of a machine."""
    if not (directory / "hostname").is_file():
        raise Complaint(f"{directory} has no file `hostname`, so no machine was captured there")

    def text(name: str) -> str:
        path = directory / name
        return path.read_text() if path.exists() else ""

    environ = dict(line.split("=", 1) for line in text("environment").splitlines() if "=" in line)
    return _machine(text("hostname").strip(), text("ldconfig"), environ, text("mounts"), text("modules"))


def _machine(hostname: str, listing: str, environ: dict[str, str], mounts: str, modules: str) -> Machine:
    libraries: dict[str, str] = {}
    for line in listing.splitlines():
        name, arrow, path = line.strip().partition(" => ")
        if arrow:
            libraries.setdefault(name.split(" ")[0], path)
    found = [line.strip() for line in modules.splitlines() if line.strip() and not line.startswith("#")]
    shown = [_mount(line) for line in mounts.splitlines() if len(line.split(" ")) >= 4]
    return Machine(hostname, libraries, environ, shown, found)


def _mount(line: str) -> Mount:
    _, place, kind, options, *_ = line.split(" ")
    return Mount(place.replace("\\040", " "), kind, options.split(","))
