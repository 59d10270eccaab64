"""None of our files outlives the job, or the user's next job on the node; and without opt-in there is no trace of us."""

from collections.abc import Callable
from pathlib import Path

import pytest

from lab.ranks import Mpi, clean_environment, run
from lab.syscalls import MARK
from tests.conftest import Job

Stores = Callable[[], list[Path]]
LOOK = "import os; from pathlib import Path; print(len(list(Path('/dev/shm').glob('mpiimport-*'))))"


def test_the_store_is_gone_after_the_job(job: Job, mpi: Mpi, stores: Stores) -> None:
    outcome = job.run(mpi, 3, job.script("import numpy\n" + LOOK))
    assert outcome.lines() == ["1"] * 3
    assert stores() == []


def test_the_store_is_gone_after_ranks_that_end_in_every_way(job: Job, mpich: Mpi, stores: Stores) -> None:
    ends = "rank = int(os.environ['PMI_RANK']); os._exit(0) if rank == 1 else sys.exit(rank) if rank == 2 else None"
    outcome = job.run(mpich, 4, job.script("import os, sys, numpy\n" + ends))
    assert outcome.status == 2, outcome
    assert stores() == []


def test_leftovers_of_a_killed_job_are_swept_by_the_next(job: Job, mpich: Mpi, stores: Stores) -> None:
    killed = job.run(mpich, 3, job.script("import os, signal; os.kill(os.getpid(), signal.SIGKILL)"))
    assert killed.status not in (0, None)
    assert len(stores()) == 1
    outcome = job.run(mpich, 3, job.script(LOOK))
    assert outcome.lines() == ["1"] * 3
    assert stores() == []


# What a rank runs as a job of its own.
NEIGHBOUR = """
import os, subprocess
kept = {{name: value for name, value in os.environ.items() if not name.startswith(("PMI", "HYD", "MPI_"))}}
subprocess.run({inner!r}, env={{**kept, "MPIIMPORT": "force"}}, check=True, stdin=subprocess.DEVNULL)
"""


def neighbour(job: Job, mpi: Mpi, text: str) -> str:
    """A line that runs a second job on this node."""
    command = job.command(mpi, 2, "early", job.script(text, "inner.py"))
    return f"exec({NEIGHBOUR.format(inner=command)!r})"


def test_a_running_neighbour_job_is_not_swept(job: Job, mpich: Mpi) -> None:
    text = f"""
import os
from pathlib import Path
if os.environ["PMI_RANK"] == "0":
    {neighbour(job, mpich, "import json, xml.dom.minidom")}
    print("stores", len(list(Path("/dev/shm").glob("mpiimport-*"))))
import numpy
"""
    assert job.run(mpich, 2, job.script(text)).printed() == ["stores 1"]


def test_a_store_whose_lock_the_program_has_read_is_not_swept(job: Job, mpich: Mpi, place: Path) -> None:
    text = f"""
import os
from pathlib import Path
rank = os.environ["PMI_RANK"]
(store,) = Path({str(place)!r}).iterdir()
(store / "lock").read_bytes()
Path("read-" + rank).touch()
while not Path("read-0").exists() or not Path("read-1").exists():
    pass
if rank == "0":
    {neighbour(job, mpich, "import json")}
    print("there", store.exists())
"""
    assert job.run(mpich, 2, job.script(text), MPIIMPORT_STORE=str(place)).printed() == ["there True"]


def test_a_place_with_a_relative_name_is_the_same_wherever_the_program_goes(job: Job, mpich: Mpi, place: Path) -> None:
    text = """
import os
os.chdir("/")
import numpy.linalg, xml.dom.minidom
staged = sum("/mpiimport-" in line and "numpy" in line for line in open("/proc/self/maps"))
print(type(xml.dom.minidom.__loader__).__name__, staged > 0)
"""
    assert job.run(mpich, 2, job.script(text), MPIIMPORT_STORE=place.name).printed() == ["StoreSourceLoader True"] * 2


def test_the_store_is_private(job: Job, mpich: Mpi) -> None:
    text = """
import os, numpy
from pathlib import Path
for store in Path("/dev/shm").glob(f"mpiimport-{os.geteuid()}.*"):
    print(oct(store.stat().st_mode & 0o777), store.stat().st_uid == os.geteuid())
"""
    assert set(job.run(mpich, 2, job.script(text)).lines()) == {"0o700 True"}


@pytest.mark.parametrize("switch", ["0", ""])
def test_switched_off_there_is_no_trace_of_us(job: Job, mpich: Mpi, prefix: Path, switch: str) -> None:
    script = job.script(f"import json, os; os.path.exists('{MARK}end')")
    for found in job.traced(mpich, 2, script, entry_point="sitecustomize", MPIIMPORT=switch)[1]:
        ours = [call.path for call in found.calls if call.path.startswith(str(prefix)) or "mpiimport-" in call.path]
        names = {Path(path).name for path in ours} - {"pythonpath", "__pycache__"}
        assert not [name for name in names if "sitecustomize" not in name]
        assert not [call for call in found.calls if "libmpi" in call.path]


def test_nothing_happens_without_a_rank(job: Job) -> None:
    text = "import sys; print(sorted(name for name in sys.modules if 'mpi' in name))"
    for entry_point in ("sitecustomize", "module", "early"):
        command = [*job.python(entry_point), str(job.script(text))]
        outcome = run(command, clean_environment(**job.switches(entry_point)))
        assert outcome.status == 0, outcome.stderr
        assert "mpi4py" not in outcome.stdout
        assert outcome.stderr == ""
