"""Molecular dynamics for our group."""
from .version import __version__
from .system import System

__all__ = ["System", "__version__"]
