"""A program for each package of the corpus: what a user of it imports, and a few calls into what it loads late."""

import re
from pathlib import Path

# Each stands behind a line ``=== PACKAGE``.
_TEXTS = re.split("^=== ", Path(__file__).with_suffix(".txt").read_text(), flags=re.MULTILINE)[1:]
PROGRAMS = {name: text for name, _, text in (each.partition("\n") for each in _TEXTS)}
# One for each mechanism by which packages load themselves; these few are part of `make test`.
REPRESENTATIVE = (
    "astropy",  # files beside the code, lazily loaded configuration and units
    "cryptography",  # an extension in Rust that imports
    "h5py",  # Cython modules with bundled libraries
    "jax",  # large libraries, plugins by entry points
    "lxml",  # one large extension module
    "matplotlib",  # back ends by name, data files
    "mpi4py",  # the module that the service itself uses
    "numba",  # libraries by ctypes, imports by computed names
    "pandas",  # Cython modules that import Python ones
    "pyarrow",  # libraries that find their own place
    "pydantic",  # module __getattr__
    "setuptools",  # vendored packages, meta-path finders, pkg_resources
)
# These are there, too, for what takes long of each package.
SMALL = ("attrs", "bottleneck")


def packages_for(package: str) -> str:
    """Return the list of packages that a program is run with: `make test` installs the representative ones alone."""
    return "representative" if package in (*REPRESENTATIVE, *SMALL) else "corpus"
