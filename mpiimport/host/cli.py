"""The command ``mpiimport``: its subcommands and their options."""

import argparse
import errno
import os
import sys
from importlib import import_module

from mpiimport import __version__

from .complaint import Complaint

# A static binary does them (``__main__.py``).
OF_THE_BINARY = {
    "exec": "run a command in an image, accelerated",
    "run": "start a job's launcher, with the profile resolved once for all its containers",
}
# Each is a module of ``commands``, with _ for -, and is imported when it is called.
OWN = {
    "prepare": "make a snapshot of a program, from which its later jobs start",
    "snapshot": "list, show, check and remove what is prepared",
    "bake": "record what a program imports into an image, for its first run",
    "manifest": "look at what programs were seen to import",
    "profile": "list, show, check and write site profiles",
    "plugin": "put the plugin into Apptainer or SingularityCE, or check it there",
    "oci": "have podman, docker, CRI-O or containerd know mpiimport",
    "doctor": "say what a job here would use, what is wrong, and whether serving it helps",
    "report": "show what a job did, from what --report FILE wrote",
    "session": "keep a program's modules on this node, for many jobs",
    "workflow": "jobs for workflow managers, and how fast their tasks were done",
    "shim-path": "print the directory that has to be first on PATH",
}
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
        print(f"mpiimport: {exc}; {_remedy(exc.name)}", file=sys.stderr)
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
    own, command = _split(words)
    parser = _parser(next((word for word in own if not word.startswith("-")), ""))
    arguments = parser.parse_args(own)
    if arguments.takes_command and not command:
        parser.error(f"give the command to run after --: mpiimport {' '.join(own)} -- COMMAND")
    if command and not (arguments.takes_command or arguments.may_take_command):
        parser.error(f"unexpected: -- {' '.join(command)}")
    return arguments, command


def _remedy(module: str | None) -> str:
    if module in sys.stdlib_module_names:
        return f"{sys.executable} was built without it: install mpiimport with another Python, PYTHON=/path/to/python3"
    return "install mpiimport[host]"


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    """Split at the first ``--``, behind which everything belongs to another program."""
    position = words.index("--") if "--" in words else len(words)
    return words[:position], words[position + 1 :]


def _parser(name: str) -> argparse.ArgumentParser:
    """Return one that understands the subcommand of this name, or, where there is none, has the names of all."""
    parser = argparse.ArgumentParser(prog="mpiimport", description="Start-up accelerator for Python MPI jobs.")
    parser.add_argument("--version", action="version", version=f"mpiimport {__version__}")
    parser.set_defaults(takes_command=False, may_take_command=False)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    if name in OWN:
        import_module(f".commands.{name.replace('-', '_')}", __package__).add_parser(commands)
        return parser
    for each, meaning in {**OF_THE_BINARY, **OWN}.items():
        commands.add_parser(each, help=meaning)
    return parser
