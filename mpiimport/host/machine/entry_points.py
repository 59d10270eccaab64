"""The ways into containers that this machine has: runtimes, our shim and plugin, and what mounting an image needs."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from mpiimport.runtime import PREFIX

SHIM = Path(PREFIX, "shim")
# The name under which runtimes know our plugin.
PLUGIN = "mpiimport.org/plugin"
# Those that the shim and the plugin are for, and the others.
FLAGGED, OTHERS = ("apptainer", "singularity"), ("podman", "docker")
FUSE = "/dev/fuse"
SECONDS = 60


@dataclass(frozen=True)
class Runtime:
    """``version``: its own words, empty where it does not answer; ``plugin``: it has ours, enabled."""

    name: str
    path: str
    version: str
    plugin: bool = False


def runtimes() -> list[Runtime]:
    """Return the container runtimes on PATH, without our shim."""
    path = path_without_shim()
    found: list[Runtime] = []
    for name in FLAGGED + OTHERS:
        executable = shutil.which(name, path=path)
        # A distribution's singularity is often another name of apptainer.
        if executable and not any(Path(executable).samefile(other.path) for other in found):
            lines = _said(executable, "--version")
            plugin = name in FLAGGED and ["yes", PLUGIN] in map(str.split, _said(executable, "plugin", "list"))
            found.append(Runtime(name, executable, lines[0] if lines else "", plugin))
    return found


def path_without_shim() -> str:
    """Return PATH as it is without the shim of this installation."""
    return os.pathsep.join(place for place in os.get_exec_path() if not _is_shim(place))


def shim_is_first() -> bool:
    """Tell whether ``apptainer`` or ``singularity``, typed here, is the shim of this installation."""
    return any(_is_shim(str(Path(found).parent)) for found in map(shutil.which, FLAGGED) if found)


def image_files_can_be_mounted() -> bool:
    """Tell whether this user can open what image files are mounted through where the kernel does not do it."""
    return os.geteuid() == 0 or os.access(FUSE, os.R_OK | os.W_OK)


def _is_shim(directory: str) -> bool:
    return Path(directory).resolve() == SHIM.resolve()


def _said(*command: str) -> list[str]:
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return done.stdout.splitlines() if not done.returncode else []
