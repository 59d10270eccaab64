"""One job on the lab, plainly and served, and the page of `mpiimport report --html` that shows both.

    python -m benchmarks.demonstrations.lab_report --prefix build/prefix --output build/report

Needs root. Of the plain run only root reports; the file system of the lab counts the operations of all ranks.
"""

import tempfile
from pathlib import Path

from benchmarks.measuring.command_line import add_service_time, end_with, options_of
from benchmarks.measuring.contenders import SECONDS, Start, forced
from benchmarks.workloads import WORKLOADS
from lab.cluster import Cluster, python_tree
from lab.filesystem import SharedFileSystem
from lab.provisioning import provision, provisioned_mpi
from lab.ranks import Mpi, clean_environment, run
from mpiimport.host.report.file import read_reports
from mpiimport.host.report.page import page

# Options of mpiimport, by way.
WAYS: dict[str, dict[str, str]] = {"plain": {"INIT": "off"}, "first": {}, "later": {}}
PROGRAM = """
{imports}
from mpi4py import MPI
MPI.COMM_WORLD.Barrier()
"""


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--ranks", type=int, default=64, help="(%(default)s)")
    parser.add_argument("--nodes", type=int, default=8, help="(%(default)s)")
    add_service_time(parser)
    options = parser.parse_args()
    provision("lab.sh")
    mpi = provisioned_mpi()
    options.output.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="lab-report-") as name,
        SharedFileSystem(options.service_time / 1e3) as shared,
        Cluster(options.nodes, Path(name)) as cluster,
    ):
        (cluster.home / "app.py").write_text(PROGRAM.format(imports=WORKLOADS["scipy"].imports))
        cluster.share(shared, *python_tree().values())
        reports = []
        for way, changes in WAYS.items():
            start = forced(options.prefix, cluster.home / "manifests", DEADLINE=str(SECONDS), **changes)
            reports.append(options.output / f"{way}.json")
            shared.remount()
            reports[-1].write_text(reported(start, cluster, mpi, options.ranks))
            print(f"{way}: {shared.load().total.metadata:,} operations on the shared file system", flush=True)
    html = options.output / "page.html"
    html.write_text(page(read_reports(reports)), encoding="utf-8")
    print(html)


def reported(start: Start, cluster: Cluster, mpi: Mpi, ranks: int) -> str:
    """Run the program and return its report."""
    mpi = cluster.mpi(mpi)
    path = cluster.home / "report"
    variables = {"MPI4PY_LIBMPI": str(mpi.library), "MPIIMPORT_REPORT": str(path), **start.environment}
    command = [*mpi.command(ranks), *start.python, str(cluster.home / "app.py")]
    outcome = run(command, clean_environment(**variables), SECONDS, cluster.home)
    if outcome.status != 0:
        raise SystemExit(f"status {outcome.status}: {outcome.stderr[-4000:]}")
    return path.read_text()


if __name__ == "__main__":
    end_with(main)
