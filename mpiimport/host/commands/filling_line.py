"""The line of `mpiimport session start`: its program is to fill a store, so one that would run is refused."""

import os
import re
import shutil
from pathlib import Path

from mpiimport.runtime import PREFIX
from mpiimport.runtime.regular_file import open_regular

from ..complaint import Complaint

PYTHON = re.compile(r"python[\d.]*t?")
# Launchers that start the words behind their options on each rank. None of them is written in Python.
STARTERS = (
    *("aprun", "jsrun", "mpiexec", "mpiexec.hydra", "mpiexec.mpich", "mpiexec.openmpi", "mpirun", "mpirun.mpich"),
    *("mpirun.openmpi", "orterun", "oshrun", "prterun", "srun"),
)
# Programs that see to it themselves that a Python fills.
OURS = ("apptainer", "ch-run", "docker", "mpiimport", "podman", "python-mpi", "shifter", "singularity")
# Others whose words say what they start, in ways that are not read here.
LEADING = (*OURS, "pixi", "uv")
# A script of pip's whose path of Python is too long for a first line, or has blanks.
PIPS = re.compile(rb"""#!/bin/sh\n'''exec' "?([^"\n]+?)"? "\$0" "\$@" *\n""")
FIRST_LINE = re.compile(rb"#! *(?:\S*/env +(?:-S +)?)?(\S*python[\d.]*t?)([^\n]*)")
IGNORING = re.compile(r"-[A-Za-z]*[IES][A-Za-z]*")
# What takes the directory of mpiimport away from those that a Python looks at.
DROPS = re.compile(
    r"unset\b[^;&|]*\bPYTHONPATH\b|\bPYTHONPATH=(?!\S*\$\{?PYTHONPATH)|\benv +(?:-i\b|-u *PYTHONPATH)|--export=NONE"
    r"|-g?env(?:none|list)?\b +(?:PYTHONPATH|MPIIMPORT)\b|\bMPIIMPORT=0"
)
PYTHONPATH_ENTRY = Path(PREFIX) / "lib" / "mpiimport" / "pythonpath"


def with_entry_point(line: list[str], environment: dict[str, str]) -> dict[str, str]:
    """Return the environment in which the program of a line fills a store. Raises Complaint where it would run."""
    path = environment.get("PATH")
    words = [part for word in line for part in (word.split() or [word])]
    pythons = [place for place, word in enumerate(words) if interpreter_of(word, path)]
    is_started = Path(line[0]).name in STARTERS
    if any(Path(word).name in OURS for word in words):
        return environment
    if is_started and not pythons and not any(_may_lead(word, path) for word in line[1:]):
        raise Complaint(_refusal(f"{' '.join(line)} names no program of Python", "name it behind python-mpi"))
    for place in pythons[:1]:
        python, *options = interpreter_of(words[place], path)
        is_script = python != words[place]
        ignoring = _ignoring(options if is_script else words[place + 1 :])
        if ignoring:
            reason = f"{words[place]} starts {Path(python).name} with {ignoring}, and so mpiimport does not come to it"
            raise Complaint(_refusal(reason, "put python-mpi " + ("in front of it" if is_script else "in its place")))
    for word in (" ".join(line), *line):
        changing = _line_that_drops(word, path)
        if changing:
            reason = f"this line takes away the PYTHONPATH that mpiimport needs: {ascii(changing)[1:-1]}"
            raise Complaint(_refusal(reason, "put python-mpi in the place of python there"))
    return {
        **environment,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(PYTHONPATH_ENTRY), environment.get("PYTHONPATH")])),
    }


def _refusal(reason: str, remedy: str) -> str:
    return f"nothing was run, and nothing is filled: {reason}; {remedy} ({Path(PREFIX) / 'bin' / 'python-mpi'})"


def _line_that_drops(word: str, path: str | None) -> str:
    """Return by which line a shell's text, or the script that a word names, takes PYTHONPATH away; empty for none."""
    text = word if len(word.split()) > 1 else os.fsdecode(_beginning(word, path))
    if "python-mpi" in text or not (text is word or text.startswith("#!")) or interpreter_of(word, path):
        return ""
    lines = (line.strip() for line in text.splitlines())
    return next((line for line in lines if DROPS.search(line) and not line.startswith("#")), "")


def interpreter_of(word: str, path: str | None = None) -> list[str]:
    """Return the Python that a word leads to, itself or a script's, and its options; empty where there is none."""
    if PYTHON.fullmatch(Path(word).name):
        return [word]
    text = _beginning(word, path)
    long = PIPS.match(text)
    if long:
        return [os.fsdecode(long[1])]
    found = FIRST_LINE.match(text)
    return [os.fsdecode(found[1]), *os.fsdecode(found[2]).split()] if found else []


def _ignoring(options: list[str]) -> str:
    """Return the option by which a Python does not look at PYTHONPATH; empty where none of those in front says so."""
    value_follows = False
    for word in options:
        if value_follows:
            value_follows = False
        elif not word.startswith("-") or word[:2] in ("-m", "-c", "--"):
            return ""
        elif word[:2] in ("-W", "-X"):
            value_follows = len(word) == 2
        elif IGNORING.fullmatch(word):
            return word
    return ""


def _may_lead(word: str, path: str | None) -> bool:
    return Path(word).name in LEADING or len(word.split()) > 1 or _beginning(word, path).startswith(b"#!")


def _beginning(word: str, path: str | None) -> bytes:
    """Return how the file begins that a word of a line names as a command; nothing where it is none."""
    found = shutil.which(word, path=path) if word and not word.startswith("-") else None
    try:
        if found is None:
            return b""
        with os.fdopen(open_regular(found), "rb") as stream:
            return stream.read(4096)
    except OSError:
        return b""
