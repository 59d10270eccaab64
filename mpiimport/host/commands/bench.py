"""``mpiimport bench bcast``: how long a payload takes to the nodes of a machine."""

import argparse
import os
from pathlib import Path

from mpiimport.runtime.mpi.launcher import launch
from mpiimport.runtime.options import from_environment
from mpiimport.runtime.size import is_count

from ..complaint import Complaint
from ..machine.trees import usual_python

# What each rank runs.
RANK = Path(__file__).resolve().parents[1] / "probe" / "bench_bcast.py"


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    kinds = commands.add_parser("bench").add_subparsers(required=True, metavar="KIND")
    parser = kinds.add_parser(
        "bcast",
        help="time the broadcast between nodes",
        usage="mpiimport bench bcast [--python PYTHON] [--sizes MB...] [--repeats N] [-- LAUNCHER...]",
        description="Measure the broadcast between nodes, one rank on each. LAUNCHER starts the ranks (srun -N 16, "
        "mpirun -n 16 --map-by node); without one, the command itself is to be started by it.",
    )
    parser.add_argument("--python", metavar="PYTHON", help="the Python of the jobs (default: python3)")
    parser.add_argument("--sizes", nargs="+", type=_count, default=[1, 16, 64], metavar="MB", help="(1 16 64)")
    parser.add_argument("--repeats", type=_count, default=5, metavar="N", help="measurements; the median counts (5)")
    parser.set_defaults(
        may_take_command=True,
        run=lambda given, launcher: bcast(launcher, given.python, given.repeats, given.sizes),
    )


def bcast(launcher: list[str], python: str | None, repeats: int, sizes: list[int]) -> int:
    """Become the launcher, or the rank that this process is. Raises Complaint where it is none."""
    if not launcher and launch(from_environment().rank_variables) is None:
        raise Complaint(
            "bench bcast is for ranks: mpirun -n 8 mpiimport bench bcast, or mpiimport bench bcast -- mpirun -n 8"
        )
    program = [python or usual_python(), str(RANK), str(repeats), *map(str, sizes)]
    command = [*launcher, *program]
    # The ranks are to start MPI themselves.
    environment = {**os.environ, "MPIIMPORT": "0"}
    try:
        os.execvpe(command[0], command, environment)
    except OSError as exc:
        raise Complaint(f"cannot run {command[0]}: {exc.strerror}") from None


def _count(text: str) -> int:
    if not is_count(text):
        raise argparse.ArgumentTypeError(f"{text} is no number above 0")
    return int(text)
