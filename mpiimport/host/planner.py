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
    """One thing that a profile says. ``key`` is dotted; each entry of a list is a value of its own.

    Where it refers to variables, ``here`` is what it becomes with those of this process, or ``left_out`` says why a
    launch does without it.
    """

    key: str
    value: Any
    file: str
    line: int
    here: Any = None
    left_out: str = ""

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def taken(self) -> Any:
        """The value that a launch from here takes."""
        return self.value if self.here is None else self.here

    @property
    def shown(self) -> str:
        """The value as it is written and, where that is another, as it is here."""
        forms = [self.value, *([self.here] if self.here is not None else [])]
        texts = [form if isinstance(form, str) else json.dumps(form) for form in forms]
        return " -> ".join([*texts, *([f"excluded: {self.left_out}"] if self.left_out else [])])


@dataclass(frozen=True)
class Mount:
    """A mount of a launch plan, globs expanded."""

    source: str
    target: str
    options: str


@dataclass(frozen=True)
class Brought:
    """A library of the host's MPI: its ``name`` in the container, the file, and the library that needs it, if any does.

    ``system``: it is used only where the image has none with these ``versions`` of its symbols.
    """

    name: str
    source: str
    needed_by: str
    system: bool
    versions: list[str]

    def in_words(self) -> str:
        return f"{self.name} ({self.source}, for {self.needed_by}{', unless the image has it' if self.system else ''})"


@dataclass(frozen=True)
class Taken:
    """The host's MPI that a launch plan brings: the directory it is taken ``origin``, the newest of ``matches``."""

    origin: str
    matches: list[str]
    abi: str
    libraries: list[Brought]

    def in_words(self) -> str:
        """What is taken, from where, and what it needs."""
        others = len(self.matches) - 1
        choice = f", the newest of {others + 1} ({', '.join(self.matches)})" if others else ""
        own = [library.name for library in self.libraries if not library.needed_by]
        needs = [library.in_words() for library in self.libraries if library.needed_by]
        return f"mpi.inject takes {self.origin}{choice}: {', '.join(own)}; they need of this host " + (
            ", ".join(needs) or "nothing else"
        )


@dataclass(frozen=True)
class Plan:
    """What a container start with a profile does, as far as it is asked about here."""

    mounts: list[Mount]
    taken: Taken | None


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
    """Return the names and paths of profiles, between commas, as the program takes them: with a slash for a file."""
    parts = profile.split(",")
    return ",".join(str(Path(part).absolute()) if part.endswith((".yaml", ".yml")) else part for part in parts)


def values(profile: str) -> list[Value]:
    """Return all that a profile says, what it extends included. Raises Complaint."""
    return [Value(**said) for said in json.loads(plan("show", "--provenance", "--profile", named(profile)))]


def resolved(profile: str) -> Plan:
    """Return the launch plan of a profile. Raises Complaint where the host lacks what it needs."""
    found = json.loads(plan("show", "--profile", named(profile)))
    inject = found.get("inject")
    taken = inject and Taken(
        inject["from"],
        inject["newest_of"],
        inject["abi"],
        [
            Brought(one["name"], one["source"], one["for"], one.get("system", False), one.get("versions", []))
            for one in inject["libraries"]
        ],
    )
    return Plan([Mount(**mount) for mount in found["mounts"]], taken)


@dataclass(frozen=True)
class Candidate:
    """A profile that a launch looks at where none is named; ``file`` is empty for the built-in default."""

    profile: str
    file: str
    taken: bool
    why: str

    def __str__(self) -> str:
        return f"{self.profile}, {self.why}: {self.file or 'built in, changes nothing'}"


def candidates() -> list[Candidate]:
    """Return what a launch that names no profile looks at here; the last one is taken. Raises Complaint."""
    return [Candidate(**candidate) for candidate in json.loads(plan("why"))]


def wrong() -> list[str]:
    """Return what keeps launches here from the profiles that are meant for all of them. Raises Complaint."""
    return list(json.loads(plan("wrong")))


def names() -> tuple[list[str], list[str]]:
    """Return the sound profiles that can be named here, and what is wrong with the others. Raises Complaint."""
    sound, broken = listing()
    return [line.split()[0] for line in sound.splitlines()], broken
