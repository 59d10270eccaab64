"""``mpiimport exec`` and ``mpiimport run``: every rank may call them, so a static binary does the work."""

import argparse
import os
from pathlib import Path

from mpiimport.runtime import PREFIX

from .complaint import Complaint

COMMANDS = {
    "exec": "run a command in an image, accelerated",
    "run": "start a job's launcher, with the profile resolved once for all its containers",
}


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    for name, meaning in COMMANDS.items():
        parser = commands.add_parser(name, help=meaning)
        parser.add_argument("words", nargs=argparse.REMAINDER)
        parser.set_defaults(may_take_command=True)


def become(words: list[str]) -> None:
    """Become the binary that understands ``words``. Raises Complaint where it is missing."""
    binary = Path(PREFIX, "bin", "mpiimport")
    try:
        os.execv(binary, [str(binary), *words])
    except OSError as exc:
        raise Complaint(f"{words[0]} needs {binary} ({exc.strerror}), which `make install` lays out") from None
