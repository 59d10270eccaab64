"""Programs that stand between a launcher and a rank's python, and run that python as their only program.

A rank's MPI can be started once. So a child of a program is the rank only where that program runs one command, the end
of its own line, waits for it, and hands on signals and exit status. A shell is none: what else its text runs is open.
"""

import sys

from .. import open, os

# With the word of their own in front of the command, if there is one.
WRAPPERS = {"timeout": "", "uv": "run"}


def own_words() -> list[str]:
    """Return what this interpreter was started to run, as it was given: script, module or text, and its arguments."""
    return sys.orig_argv[-len(sys.argv) :] if len(sys.orig_argv) >= len(sys.argv) else []


def words_of_wrapper(process: int, words: list[str]) -> list[str]:
    """Return the line of a process, where it is a wrapper of the program of ``words``; empty where it is none."""
    line = _line(process)
    name = os.path.basename(line[0]) if line and words else ""
    if name not in WRAPPERS or (WRAPPERS[name] and WRAPPERS[name] not in line):
        return []
    end = line[1:][-len(words) :]
    return line if end[1:] == words[1:] and end and _is_same(end[0], words[0]) else []


def parent_of(process: int) -> int:
    """Return the parent of a process; 0 where it cannot be seen."""
    try:
        with open(f"/proc/{process}/stat", "rb") as stream:
            return int(stream.read().rpartition(b")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return 0


def _line(process: int) -> list[str]:
    try:
        with open(f"/proc/{process}/cmdline", "rb") as stream:
            return [os.fsdecode(word) for word in stream.read().split(b"\0")[:-1]]
    except OSError:
        return []


def _is_same(given: str, started: str) -> bool:
    """Tell whether a word names the program that was started: PATH may have led to it."""
    return given == started or (given != "" and "/" not in given and os.path.basename(started) == given)
