"""Plain starts that were recorded, as ``mpiimport doctor`` shows them."""

import time
from pathlib import Path

from mpiimport.runtime.options import OptionError, from_environment
from mpiimport.runtime.payload.learned_manifest import user_directory
from mpiimport.runtime.payload.plain_start import LONGEST, SUFFIX, parse
from mpiimport.runtime.regular_file import read_regular

SHOWN = 3


def recorded_starts() -> str:
    """Return what the last ones came to, for a person; empty where none is recorded, or none can be read."""
    try:
        place = from_environment().manifests or user_directory()
        files = sorted(Path(place).glob(f"*{SUFFIX}"), key=lambda file: -file.lstat().st_mtime_ns) if place else []
        return "; ".join(filter(None, (_shown(file) for file in files[:SHOWN] if file.is_file())))
    except (OSError, OptionError):
        return ""


def _shown(file: Path) -> str:
    text = read_regular(str(file), LONGEST).decode(errors="replace")
    figures = parse(text)
    if not figures:
        return ""
    program = text.split("\n")[1].rpartition("/")[2].removeprefix("program ")
    day = time.strftime("%Y-%m-%d", time.localtime(figures["recorded"]))
    return f"{program} took {figures['start']:.1f} s to its own code with {figures['ranks']} ranks ({day})"
