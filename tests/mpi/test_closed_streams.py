"""A process that is started without a standard stream has none, and its children have none of our files for it."""

import json

import pytest

from lab.ranks import Mpi, run
from tests.conftest import Job, crossed, settle

SHOW = """
import json, os, sys
def there(number):
    try:
        # The launcher's pipes and terminals differ from run to run.
        return os.readlink(f"/proc/self/fd/{number}").partition(":")[0]
    except OSError:
        return None
seen = [[there(number), os.get_inheritable(number) if there(number) else None] for number in range(3)]
seen.append([stream is None for stream in (sys.stdin, sys.stdout, sys.stderr)])
import numpy
seen.append([there(number) for number in range(3)])
json.dump(seen, open(f"seen.{os.environ['PMI_RANK']}", "w"))
"""


@pytest.mark.parametrize(
    ("closed", "entry_point"),
    crossed(
        ["<&- >&- 2>&-", "<&-", ">&-", "2>&-", ">&- 2>&-"],
        ["early", "module", "sitecustomize", "kept", "snapshot"],
    ),
)
def test_streams_that_are_closed_at_the_start_stay_closed(job: Job, mpich: Mpi, entry_point: str, closed: str) -> None:
    script = job.script(SHOW)
    found = []
    for start in ("plain", entry_point):
        variables = job.environment(mpich, **job.switches(start))
        if start == "kept":
            assert job.keep(script, entry_point=start).status == 0
        if start == "snapshot":
            settle(script)
            assert job.prepare([*mpich.command(1), *job.python(start), str(script)], variables) == ""
        shell = ["bash", "-c", f'exec "$@" {closed}', "bash"]
        outcome = run([*mpich.command(2), *shell, *job.python(start), str(script)], variables, 60, job.directory)
        assert outcome.status == 0, outcome.stderr
        found.append([json.loads((job.directory / f"seen.{rank}").read_text()) for rank in range(2)])
    assert (entry_point == "snapshot") == job.has_read_a_snapshot()
    if entry_point == "kept":
        said = job.tool("session", "status", **variables).stdout
        assert ", 2 processes so far, " in said and said.endswith(", 0 now\n"), said
    plain, served = found
    assert served == plain
    assert [None, None] in plain[0]
