"""The command ``mpiimport``: its subcommands and their options."""

import argparse
import errno
import os
import sys

from mpiimport import __version__

from .commands import (
    bake,
    bench,
    doctor,
    exec_and_run,
    manifest,
    oci,
    plugin,
    profile,
    report,
    session,
    shim_path,
    workflow,
)
from .complaint import Complaint

# The last one is that of shells, for a process that an interrupt has ended.
USAGE_STATUS, FAILURE_STATUS, INTERRUPTED_STATUS = 2, 1, 130
# Of standard output that nobody can write to: a full disk, a limit, a reader that has gone.
OUTPUT_FAILS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EPIPE}


def main(words: list[str] | None = None) -> int:
    """Run one subcommand and return the exit status: 1 after a complaint, 2 for a command line not understood."""
    words = sys.argv[1:] if words is None else words
    try:
        arguments, command = understand(words)
        status: int = arguments.run(arguments, command)
        # What cannot be written shows here, and not when the interpreter ends.
        sys.stdout.flush()
    except Complaint as exc:
        print(f"mpiimport: {exc}", file=sys.stderr)
        return FAILURE_STATUS
    except KeyboardInterrupt:
        return INTERRUPTED_STATUS
    except ModuleNotFoundError as exc:
        # Libraries that only some commands need, and an image in which `bake` is run does not.
        if (exc.name or __package__).startswith("mpiimport"):
            raise
        print(f"mpiimport: {exc}; install mpiimport[host]", file=sys.stderr)
        return FAILURE_STATUS
    except OSError as exc:
        if exc.filename is not None:
            print(f"mpiimport: {exc.strerror}: {ascii(exc.filename)[1:-1]}", file=sys.stderr)
            return FAILURE_STATUS
        if exc.errno not in OUTPUT_FAILS:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        # A reader that has seen enough need not be told.
        if exc.errno != errno.EPIPE:
            print(f"mpiimport: the output cannot be written: {exc.strerror}", file=sys.stderr)
        return FAILURE_STATUS
    return status


def understand(words: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return the options of a subcommand and the command behind ``--``. Raises SystemExit, with status 2."""
    parser = _parser()
    own, command = _split(words)
    arguments = parser.parse_args(own)
    if arguments.takes_command and not command:
        parser.error(f"give the command to run after --: mpiimport {' '.join(own)} -- COMMAND")
    if command and not (arguments.takes_command or arguments.may_take_command):
        parser.error(f"unexpected: -- {' '.join(command)}")
    return arguments, command


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    """Split at the first ``--``, behind which everything belongs to another program."""
    position = words.index("--") if "--" in words else len(words)
    return words[:position], words[position + 1 :]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mpiimport", description="Start-up accelerator for Python MPI jobs.")
    parser.add_argument("--version", action="version", version=f"mpiimport {__version__}")
    parser.set_defaults(takes_command=False, may_take_command=False)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for subcommand in (
        bake,
        exec_and_run,
        manifest,
        profile,
        plugin,
        oci,
        doctor,
        bench,
        report,
        session,
        workflow,
        shim_path,
    ):
        subcommand.add_parser(commands)
    return parser
