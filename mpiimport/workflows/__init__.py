"""Jobs for workflow managers: one description, which each adapter turns into its manager's own terms.

An adapter imports its manager only when it makes something of it. What it would give to the manager can be printed
without (``show.py``), for managers that have no adapter.
"""

from .job import Job

__all__ = ["Job"]
