"""Ising model on a lattice: ``python -m lattice``."""

__version__ = "1.0"
