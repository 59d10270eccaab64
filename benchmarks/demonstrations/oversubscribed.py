"""What a clock on the wall says of ranks that share a core, and what their own clocks say.

The effect that Nigay, Mosimann, Schneider and Hoefler describe ("Communication and Timing Issues with MPI
Virtualization", EuroMPI/USA'20): a benchmark that divides its work by the wall reports one core's speed divided by
the number of ranks on it, though each rank computes as fast as before while it has the core.
"""

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.measuring.command_line import with_prefix
from lab.ranks import Mpi, clean_environment, run

RANKS = (1, 2, 4)
SECONDS = 120
OPERATIONS = 6_000_000
# A scalar product, as in HPCCG, the article's example; nothing in it waits for other ranks.
PROGRAM = f"""
x = [0.5] * 1000
total = 0.0
for _ in range({OPERATIONS} // 2000):
    for value in x:
        total += value * value
"""


def main() -> int:
    prefix = with_prefix(__doc__).parse_args().prefix
    mpi = Mpi("mpich", Path(sys.prefix), Path(sys.prefix) / "lib" / "libmpi.so.12")
    table = Table("ranks on one core", title="main phase, median over ranks (s)", title_justify="left")
    for column in ("wall", "own", "waited for a core", "Mflop/s by wall", "Mflop/s by own time"):
        table.add_column(column, justify="right")
    for ranks in RANKS:
        spread = {clock: found["median"] for clock, found in on_one_core(mpi, prefix, ranks)["phases"]["main"].items()}
        speeds = [f"{OPERATIONS / spread[clock] / 1e6:.1f}" for clock in ("wall", "own")]
        table.add_row(str(ranks), *(f"{seconds:.3f}" for seconds in spread.values()), *speeds)
    Console().print(table)
    return 0


def on_one_core(mpi: Mpi, prefix: Path, ranks: int) -> dict[str, Any]:
    """Run the program on so many ranks that share a core, and return its report. One rank runs as plain Python."""
    with tempfile.TemporaryDirectory(prefix="mpiimport-oversubscribed-") as name, one_core():
        directory = Path(name)
        (directory / "app.py").write_text(PROGRAM)
        python = [sys.executable, "-S", str(prefix / "lib" / "mpiimport" / "start.py")]
        variables = {"MPIIMPORT": "force", "MPIIMPORT_REPORT": "report.json", "MPIIMPORT_MANIFESTS": "-"}
        environment = clean_environment(MPI4PY_LIBMPI=str(mpi.library), **mpi.environment, **variables)
        outcome = run([*mpi.command(ranks), *python, "app.py"], environment, SECONDS, directory)
        if outcome.status != 0:
            raise SystemExit(f"oversubscribed: status {outcome.status}: {outcome.stderr[-2000:]}")
        report: dict[str, Any] = json.loads((directory / "report.json").read_text())
        return report


@contextmanager
def one_core() -> Iterator[None]:
    """Keep this process, and those it starts, on one core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


if __name__ == "__main__":
    sys.exit(main())
