"""Delegated imports for MPI jobs: root reads the Python tree once, every other rank imports from node-local memory."""

__version__ = "0.1.0"
