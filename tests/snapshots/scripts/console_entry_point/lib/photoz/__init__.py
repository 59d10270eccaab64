"""Photometric redshifts by fitting templates."""
from importlib.metadata import PackageNotFoundError, version

from .catalog import Catalog
from .fit import fit_redshift

try:
    __version__ = version("photoz")
except PackageNotFoundError:
    __version__ = "unknown"

__all__ = ["Catalog", "fit_redshift"]
