"""Images for the upper layer of a container: while another process writes to one, no container starts with it."""

import subprocess
from pathlib import Path


def overlay(file: Path) -> None:
    """Make one."""
    layers = file.with_suffix(".layers")
    for name in ("upper", "work"):
        (layers / name).mkdir(parents=True)
    command = ["mkfs.ext3", "-q", "-d", str(layers), str(file), "8M"]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
