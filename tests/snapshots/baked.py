"""Programs made into images and started by the installed prefix, beside the same program run plainly."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from lab.ranks import Outcome, clean_environment, run

SECONDS = 120
# Becomes a command behind a filter of system calls.
CONFINED = Path(__file__).with_name("confined.py")
PROGRAMS, SOURCES = (Path(__file__).with_name(name) for name in ("programs", "sources"))
# In front of those of same_outcome.txt.
IMPORTS = "import json, re, subprocess, threading, random, logging, argparse, os, sys, tempfile, decimal\n"
# The first line of what uses register_before_snapshot and the like.
USING = "from mpiimport import snapshot\n"
NOT_USED = "mpiimport: the snapshot is not used: "


def reach(said: str) -> str:
    """Return the line that says how far a snapshot reaches, of what was said when it was made."""
    return said.splitlines()[1]


class Baked:
    """Programs in ``directory``; modules in ``modules`` are on their search path, as packages of a tree are."""

    def __init__(self, prefix: Path, directory: Path, python: str = sys.executable) -> None:
        self.python = python
        self.options: tuple[str, ...] = ()
        self.starter = str(prefix / "bin" / "mpiimport-restore")
        self._command = str(prefix / "bin" / "mpiimport")
        self._directory = directory
        self.modules = directory / "modules"
        self.image = directory / "image"
        for path in (self.modules, directory / "program", directory / "work"):
            path.mkdir(exist_ok=True)

    def script(self, text: str, name: str = "app.py") -> str:
        path = self._directory / "program" / name
        path.write_text(text)
        return str(path)

    def module(self, name: str, text: str) -> Path:
        path = self.modules / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def install(self) -> None:
        """Have the modules count as installed. Else they are own code, which the user may edit between two jobs."""
        (self.modules / "modules-1.dist-info").mkdir()

    def environment(self, **changes: str) -> dict[str, str]:
        return clean_environment(**{"PYTHONPATH": str(self.modules), **changes})

    def bake_command(self, script: str, *options: str) -> list[str]:
        return [
            self._command,
            "bake",
            "--snapshot",
            str(self.image),
            *options,
            "--",
            self.python,
            *self.options,
            script,
        ]

    def try_to_bake(self, script: str, *options: str, **environment: str) -> Outcome:
        return run(
            self.bake_command(script, *options), self.environment(**environment), SECONDS, self._directory / "work"
        )

    def bake(self, script: str, *options: str, **environment: str) -> str:
        """Make the image; return what was said."""
        outcome = self.try_to_bake(script, *options, **environment)
        assert outcome.status == 0, outcome
        return outcome.stdout

    def check(self) -> Outcome:
        return run([self._command, "bake", "--snapshot", str(self.image), "--check"], self.environment(), SECONDS)

    def plain(self, *words: str, **environment: str) -> Outcome:
        return run(
            [self.python, *self.options, *words], self.environment(**environment), SECONDS, self._directory / "work"
        )

    def start(self, *words: str, before: tuple[str, ...] = (), **environment: str) -> Outcome:
        """Start from the image, whether or not it is used. ``before``: words in front of the starter."""
        command = [*before, self.starter, str(self.image), *words]
        return run(command, self.environment(**environment), SECONDS, self._directory / "work")

    def start_restored(self, *words: str, **environment: str) -> Outcome:
        """Start from the image, which must be used."""
        outcome = self.start(*words, before=(), **environment)
        assert NOT_USED not in outcome.stderr, outcome
        return outcome

    def start_fresh(self, reason: str, *words: str, before: tuple[str, ...] = (), **environment: str) -> Outcome:
        """Start from an image that cannot be used, for this reason."""
        outcome = self.start(*words, before=before, **environment)
        first = outcome.stderr.partition("\n")[0]
        assert first.startswith(NOT_USED) and reason in first, outcome
        return outcome


def shared_library(source: str, directory: Path, *options: str) -> Path:
    """Compile a library of one of SOURCES."""
    library = directory / f"lib{Path(source).stem}.so"
    words = ["-w", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", str(library), str(SOURCES / source), *options]
    subprocess.run(["g++" if source.endswith(".cc") else "gcc", *words], check=True, timeout=60)
    return library


def compiled(source: str, baked: Baked, *options: str, name: str = "plant") -> None:
    """Compile a module of one of SOURCES into those of ``baked``."""
    made = shared_library(source, baked.image.parent, f"-I{sysconfig.get_path('include')}", *options)
    made.rename(baked.modules / f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}")


def interpreters() -> list[str]:
    """The Pythons that this machine has, each version once, and Debian's, which is no PIE."""
    found = {}
    for version in ("3.10", "3.11", "3.12", "3.13", "3.14"):
        name = shutil.which(f"python{version}")
        if name is not None:
            outcome = run([name, "-c", "import sys; print(sys.executable)"], clean_environment(), 30)
            if outcome.status == 0:
                found[version] = outcome.stdout.strip()
    others = ["/usr/bin/python3"] if os.access("/usr/bin/python3", os.X_OK) else []
    return sorted({*found.values(), *others})
