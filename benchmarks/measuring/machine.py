"""The machine and the versions that results were made with."""

import datetime
import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def describe(prefix: Path, **programs: Sequence[str | Path]) -> dict[str, Any]:
    """``prefix``: the installed mpiimport that was measured; ``programs``: commands whose first line is a version."""
    version = (prefix / "lib" / "mpiimport" / "__init__.py").read_text().split('__version__ = "', 1)[1].split('"', 1)[0]
    packages = ("mpi4py", "numpy", "scipy")
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "system": platform.platform(),
        "cpus": os.cpu_count(),
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "python": platform.python_version(),
        **{package: importlib.metadata.version(package) for package in packages},
        **{name: first_line(command) for name, command in programs.items()},
        "mpiimport": version,
        "commit": commit(),
    }


def commit() -> str:
    """Return what was checked out, with ``-dirty`` where more than results and documentation differs from it."""
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ":/", ":!/benchmarks/results", ":!/docs")
    return git("describe", "--always") + ("-dirty" if changed else "")


def git(*words: str) -> str:
    command = ["git", *words]
    return subprocess.run(command, cwd=Path(__file__).parent, stdout=subprocess.PIPE, text=True).stdout.strip()


def first_line(command: Sequence[str | Path]) -> str:
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.partition("\n")[0]
