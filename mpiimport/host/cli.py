"""The command ``mpiimport``: its subcommands and their options."""

import argparse
import sys
from pathlib import Path

from . import bake, manifests
from .complaint import Complaint

USAGE_STATUS, FAILURE_STATUS = 2, 1


def main(words: list[str] | None = None) -> int:
    """Run one subcommand and return the exit status: 1 after a complaint, 2 for a command line not understood."""
    parser = _parser()
    own, command = _split(sys.argv[1:] if words is None else words)
    arguments = parser.parse_args(own)
    if arguments.takes_command and not command:
        parser.error("give the command to run after --, as in: mpiimport bake IMAGE -- python app.py")
    if command and not arguments.takes_command:
        parser.error(f"unexpected: -- {' '.join(command)}")
    try:
        status: int = arguments.run(arguments, command)
    except Complaint as exc:
        print(f"mpiimport: {exc}", file=sys.stderr)
        return FAILURE_STATUS
    return status


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    """Split at the first ``--``, behind which everything belongs to another program."""
    position = words.index("--") if "--" in words else len(words)
    return words[:position], words[position + 1 :]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mpiimport", description="Start-up accelerator for Python MPI jobs.")
    parser.set_defaults(takes_command=False)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_bake(commands)
    kinds = commands.add_parser("manifest", help="look at what programs were seen to import").add_subparsers(
        required=True, metavar="ACTION"
    )
    _add_show(kinds)
    _add_diff(kinds)
    _add_prune(kinds)
    return parser


def _add_bake(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "bake",
        help="record what a program imports into an image, for its first run",
        usage="mpiimport bake [--output FILE] [IMAGE] -- COMMAND...",
        description="Run COMMAND once, in IMAGE (an image file or a sandbox directory) or, without one, right here, as "
        "in %%post or a Dockerfile, and leave the names of the modules it imports in its Python tree.",
    )
    parser.add_argument("image", nargs="?", metavar="IMAGE")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the image file to FILE, not over IMAGE")
    parser.set_defaults(takes_command=True, run=lambda given, command: bake.bake(given.image, given.output, command))


def _add_show(kinds: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = kinds.add_parser("show", help="list the manifests, or the content of some")
    parser.add_argument("which", nargs="*", metavar="MANIFEST", help="a file, a script, or the name of a -m module")
    _add_directory(parser)
    parser.set_defaults(run=lambda given, _: manifests.show(given.directory, given.which))


def _add_diff(kinds: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = kinds.add_parser("diff", help="compare two manifests; status 1 where they differ")
    parser.add_argument("old", metavar="OLD")
    parser.add_argument("new", metavar="NEW")
    _add_directory(parser)
    parser.set_defaults(run=lambda given, _: manifests.diff(given.directory, given.old, given.new))


def _add_prune(kinds: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = kinds.add_parser("prune", help="remove manifests of programs that are gone or were long not run")
    parser.add_argument("--days", type=int, default=90, metavar="N", help="not changed for N days (default: 90)")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be removed")
    _add_directory(parser)
    parser.set_defaults(run=lambda given, _: manifests.prune(given.directory, given.days, given.dry_run))


def _add_directory(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--directory",
        type=Path,
        default=manifests.default_directory(),
        help="where the manifests are (default: %(default)s)",
    )
