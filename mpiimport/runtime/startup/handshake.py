"""What must be the same on all ranks: they are one program, of one Python, from one tree, with the same settings."""

import sys

from .. import PACKAGE_DIRECTORY, os
from ..digest import FORMAT, digest
from ..file_systems import DISKS, file_system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..options import Options
    from ..program import Program


def own_facts(options: "Options", program: "Program", before_site: bool) -> dict[str, int]:
    """Return this rank's facts, by what a person calls them, as numbers below 2**62. Raises OSError."""
    facts = {
        "Python version": (sys.version, sys.hexversion, sys.implementation.cache_tag),
        "Python flags": tuple(sys.flags),
        "Python tree (sys.prefix, sys.path)": (sys.prefix, sys.base_prefix, sys.path),
        "standard library": os.stat(os.path.dirname(os.__file__)).st_mtime_ns,
        "directories on disks of their own": [_changed(path) for path in sys.path if _is_on_disk(path)],
        "program": (program.kind, program.target),
        "mpiimport": (PACKAGE_DIRECTORY, FORMAT, before_site),
        "options": sorted(options.__dict__.items()),
    }
    return {name: int.from_bytes(digest(repr(fact).encode()), "little") >> 2 for name, fact in facts.items()}


def _is_on_disk(path: str) -> bool:
    """Tell whether each node may have another directory of this name, though Python's own tree is the same."""
    own = (f"{sys.prefix}/", f"{sys.base_prefix}/")
    return path.startswith("/") and not path.startswith(own) and file_system(path) in DISKS


def _changed(path: str) -> int:
    """Return when a directory got its names, 0 where there is none: copies keep that, and others have another."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def differing(facts: dict[str, int], smallest: list[int], largest: list[int]) -> list[str]:
    """Return the names of the facts that are not the same on all ranks, by the extremes of each over them."""
    return [name for name, low, high in zip(facts, smallest, largest, strict=True) if low != high]
