"""Snapshots: the memory of an interpreter that has executed a program's begin, in a file that processes become.

What is imported here runs in the program's interpreter: built-in modules only, until its memory is written.
"""

from .hooks import here, register_after_restore, register_before_snapshot

__all__ = ["here", "register_after_restore", "register_before_snapshot"]
