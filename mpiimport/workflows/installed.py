"""The managers' own packages, which are imported only when something is made of them."""

from importlib import import_module
from typing import Any

from mpiimport.host.complaint import Complaint


def installed(module: str, packages: str) -> Any:
    """Return a manager's module. Raises Complaint where this Python has none; ``packages`` would bring it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as exc:
        raise Complaint(f"this Python has no {exc.name}; pip install {packages}") from None
