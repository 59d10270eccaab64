"""Containers of Apptainer and SingularityCE: the one way in which commands here start them, as jobs do, by the shim.

spython writes the command lines. They are run here, for their output need not be text, and their time is limited.
"""

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..complaint import Complaint
from .entry_points import FLAGGED, SHIM, path_without_shim

SECONDS = 120


def exec_line(image: str, words: list[str], *options: str) -> list[str]:
    """The command line that runs ``words`` in an image. Raises Complaint where there is no runtime."""
    return _written("execute", image, words, options=list(options))


def build_line(made: Path, source: Path, option: str) -> list[str]:
    """The command line that makes one image of another, a file or a directory. Raises Complaint."""
    return _written("build", str(source), str(made), options=[option], sudo=False)


def answer(line: list[str], environment: Mapping[str, str], who: str) -> "subprocess.CompletedProcess[bytes]":
    """Run a command line to its end, and keep what it says. Raises Complaint where ``who`` takes too long."""
    try:
        return subprocess.run(
            line, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False
        )
    except OSError as exc:
        raise Complaint(f"cannot run {line[0]}: {exc.strerror}") from None
    except subprocess.TimeoutExpired:
        raise Complaint(f"{who} has not answered within {SECONDS} seconds") from None


def last_words(done: "subprocess.CompletedProcess[bytes]") -> str:
    """What a command line said last of its failure."""
    said = [line for line in done.stderr.decode(errors="replace").splitlines() if line.strip()]
    return said[-1] if said else "it says nothing"


def _written(action: str, *words: str | list[str], **said: Any) -> list[str]:
    """Return the command line that spython would run, by the shim."""
    shim = SHIM / _name()
    # What is baked inside an image, and what is asked of no image, does without it.
    from spython.main import get_client

    lines: list[list[str]] = []
    client = get_client(quiet=True)
    client._run_command = lambda line, **_: lines.append(line)
    getattr(client, action)(*words, quiet=True, **said)
    return [str(shim), *lines[0][1:]]


def _name() -> str:
    """By which name a runtime can be called."""
    for name in FLAGGED:
        if shutil.which(name, path=path_without_shim()):
            return name
    raise Complaint("no apptainer or singularity was found: load the module that brings it")
