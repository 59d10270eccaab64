"""Profiles as the launch side resolves them: its program ``mpiimport-plan`` is asked, and no one else resolves any."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpiimport.runtime import PREFIX

from .complaint import Complaint

PROGRAM = Path(PREFIX, "bin", "mpiimport-plan")
# Its status where it has listed all profiles but the broken ones.
SOME_ARE_BROKEN = 1


@dataclass(frozen=True)
class Value:
    """One thing that a profile says. ``key`` is dotted; each entry of a list is a value of its own."""

    key: str
    value: Any
    file: str
    line: int

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Mount:
    """A mount of a launch plan, globs expanded."""

    source: str
    target: str
    options: str


def plan(*words: str) -> str:
    """Return what the program prints. Raises Complaint with its own words."""
    done = _ask(*words)
    if done.returncode:
        raise Complaint("\n".join(_complaints(done)))
    return done.stdout


def listing() -> tuple[str, list[str]]:
    """Return a line for each profile that can be named, and what is wrong with the others. Raises Complaint."""
    done = _ask("list")
    if done.returncode not in (0, SOME_ARE_BROKEN):
        raise Complaint("\n".join(_complaints(done)))
    return done.stdout, _complaints(done)


def _ask(*words: str) -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run([PROGRAM, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    except OSError as exc:
        raise Complaint(f"cannot run {PROGRAM}: {exc.strerror}; is the installation complete?") from None


def _complaints(done: "subprocess.CompletedProcess[str]") -> list[str]:
    return [line.removeprefix("mpiimport-plan: ") for line in done.stderr.strip().splitlines()]


def named(profile: str) -> str:
    """Return the name or path of a profile as the program takes it: with a slash where a file is meant."""
    return str(Path(profile).absolute()) if profile.endswith((".yaml", ".yml")) else profile


def values(profile: str) -> list[Value]:
    """Return all that a profile says, what it extends included. Raises Complaint."""
    return [Value(**said) for said in json.loads(plan("show", "--provenance", "--profile", named(profile)))]


def mounts(profile: str) -> list[Mount]:
    """Return what a container start with a profile mounts. Raises Complaint where a source is missing."""
    return [Mount(**mount) for mount in json.loads(plan("show", "--profile", named(profile)))["mounts"]]


def names() -> tuple[list[str], list[str]]:
    """Return the sound profiles that can be named here, and what is wrong with the others. Raises Complaint."""
    sound, broken = listing()
    return [line.split()[0] for line in sound.splitlines()], broken
