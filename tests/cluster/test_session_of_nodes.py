"""A session over several nodes: root reads once, every node keeps a store, and later jobs attach to it without MPI."""

import os
from collections.abc import Callable

import pytest

from lab.cluster import Cluster
from lab.filesystem import SharedFileSystem
from lab.ranks import Mpi, Outcome, run
from tests.conftest import Job, settle

from .batch_job import NODES, RANKS, BatchJob

SHOW = """
import os, numpy
with open("/proc/self/maps") as maps:
    mapped = {line.split()[-1] for line in maps}
print(os.uname().nodename,
      "served" if type(getattr(numpy.__loader__, "source", None)).__name__ == "Imports" else "plain",
      "copy" if any("mpiimport-cache" in path and "_multiarray" in path for path in mapped) else "original",
      "MPI" if any("libmpi" in path for path in mapped) else "no MPI", flush=True)
"""
SERVED, PLAIN = "served copy no MPI", "plain original no MPI"


@pytest.fixture
def session_of(
    cluster: Cluster, job: Job, mpis: dict[str, Mpi], request: pytest.FixtureRequest
) -> Callable[[str], BatchJob]:
    def of(name: str) -> BatchJob:
        batch = BatchJob(cluster, job, mpis[name])
        request.addfinalizer(lambda: batch.session("stop"))
        return batch

    return of


@pytest.fixture
def session(session_of: Callable[[str], BatchJob]) -> BatchJob:
    return session_of("mpich")


def shown(outcome: Outcome) -> list[str]:
    assert outcome.status == 0, outcome.stderr
    return sorted(outcome.lines())


def on_all_nodes(found: str) -> list[str]:
    return sorted(f"node{rank * NODES // RANKS} {found}" for rank in range(RANKS))


@pytest.mark.parametrize(
    ("name", "entry_point"),
    [
        ("mpich", "early"),
        ("mpich", "sitecustomize"),
        ("openmpi", "module"),
        pytest.param("mpich", "module", marks=pytest.mark.full),
        pytest.param("openmpi", "early", marks=pytest.mark.full),
    ],
)
def test_jobs_on_all_nodes_attach_to_what_was_read_once(
    session_of: Callable[[str], BatchJob], name: str, entry_point: str
) -> None:
    session = session_of(name)
    script = session.job.script(SHOW)
    started = session.start(script, entry_point=entry_point)
    assert (started.status, started.stdout) == (0, ""), started.stderr
    (said,) = started.ours()
    assert f"cached on {NODES} nodes" in said
    for _ in range(2):
        outcome = session.run(script, entry_point=entry_point)
        assert shown(outcome) == on_all_nodes(SERVED)
        assert outcome.ours() == []
    assert session.session("stop").status == 0
    stopped = session.run(script, entry_point=entry_point)
    assert shown(stopped) == on_all_nodes(PLAIN)
    (said,) = stopped.ours()
    assert "mpiimport session start" in said


def test_a_rank_asks_the_tree_for_nothing(session: BatchJob, cluster: Cluster, shared: SharedFileSystem) -> None:
    script = session.job.script(
        "import os, sys\nos.path.exists(f'{sys.prefix}/mark{os.getpid()}')\nimport numpy, scipy.interpolate"
    )
    assert session.start(script).status == 0
    shared.remount()
    outcome = session.run(script)
    assert (outcome.status, outcome.stderr) == (0, "")
    asked: dict[int, list[str]] = {}
    for operation in shared.operations():
        if "/mark" in operation.path:
            asked[operation.pid] = []
        elif operation.pid in asked and operation.name != "read":
            asked[operation.pid].append(f"{operation.name} {operation.path}")
    assert [paths for paths in asked.values() if paths] == []
    assert len(asked) == RANKS


def test_what_changes_meanwhile_is_for_the_next_session(session: BatchJob) -> None:
    module = session.job.directory / "site-packages" / "changing.py"
    module.parent.mkdir()
    script = session.job.script("import changing\nprint(changing.value)")
    path = {"PYTHONPATH": str(module.parent)}
    for value in ("old", "new"):
        module.write_text(f"value = {value!r}\n")
        settle(module.parent)
        settle(module)
        started = session.start(script, **path)
        assert started.status == 0, started.stderr
        module.write_text("value = 'not yet'\n")
        assert shown(session.run(script, **path)) == [value] * RANKS
    # The one before has gone. Each node has its own line, with its own ages.
    found = [line for line in session.session("status").lines() if script.name in line]
    assert len(found) == NODES and all("0 now" in line for line in found), found


@pytest.mark.parametrize("variables", [{"LD_LIBRARY_PATH": "/nowhere"}, {"MPIIMPORT_CACHE": "auto"}])
def test_libraries_are_left_to_the_linker_where_it_may_find_others(
    session: BatchJob, variables: dict[str, str]
) -> None:
    script = session.job.script(SHOW)
    assert session.start(script).status == 0
    # On one node, for `auto` serves no more.
    outcome = session.run_on_one_node(script, **variables)
    assert shown(outcome) == ["node0 served original no MPI"] * 2


def test_a_damaged_copy_is_not_mapped(session: BatchJob, cluster: Cluster) -> None:
    script = session.job.script(SHOW)
    assert session.start(script).status == 0
    damage = "for file in $(find /dev/shm/mpiimport-cache* -name '_multiarray_umath*'); do echo x >> $file; done"
    for node in session.mpi.nodes:
        assert run(cluster.on(node, ["sh", "-c", damage]), dict(os.environ), 60).status == 0
    outcome = session.run(script)
    assert shown(outcome) == on_all_nodes("served original no MPI")


def test_a_session_that_cannot_be_kept_says_why_once_and_leaves_nothing(
    session: BatchJob, cluster: Cluster, shared: SharedFileSystem
) -> None:
    script = session.job.script("import numpy\nprint('ran')")
    failures = {
        "no place for the store": {"MPIIMPORT_STORE_SIZE": "1MiB"},
        "files may change unseen": {"MPIIMPORT_CACHE_ON": "none"},
        "MPI is not to be started": {"MPIIMPORT_INIT": "off"},
    }
    for reason, variables in failures.items():
        outcome = session.start(script, **variables)
        assert (outcome.status, outcome.stdout) == (1, ""), outcome.stderr
        (said,) = outcome.ours()
        assert "no store is kept" in said
        assert reason in said
    listed = run(cluster.on(session.mpi.nodes[1], ["sh", "-c", "ls -d /dev/shm/mpiimport-cache*/stores/*"]), {}, 60)
    assert listed.stdout == ""


def test_where_one_node_cannot_keep_its_store_none_does(session: BatchJob, cluster: Cluster) -> None:
    script = session.job.script("import json")
    place = f"/dev/shm/mpiimport-cache.{os.geteuid()}.{session.name}"
    # A file where the link to the program's store is to lie.
    blocked = f"mkdir -m 700 {place} {place}/stores && touch {place}/programs"
    assert run(cluster.on(session.mpi.nodes[1], ["sh", "-c", blocked]), dict(os.environ), 60).status == 0
    outcome = session.start(script)
    assert outcome.status == 1
    (said,) = outcome.ours()
    assert "no store is kept" in said and "rank 1" in said
    for node in session.mpi.nodes:
        left = run(cluster.on(node, ["sh", "-c", f"ls {place}/stores {place}/programs/*"]), dict(os.environ), 60)
        assert "mpiimport-" not in left.stdout.replace(place, "")
        run(cluster.on(node, ["rm", "-rf", place]), dict(os.environ), 60)


def test_stores_that_nobody_uses_make_room(session: BatchJob) -> None:
    script = session.job.script(SHOW)
    first = session.start(script, MPIIMPORT_STORE_SIZE="80MiB")
    second = session.start(script, MPIIMPORT_STORE_SIZE="80MiB")
    assert (second.status, second.stderr) == (0, first.stderr)
    assert shown(session.run(script)) == on_all_nodes(SERVED)


def test_a_program_that_does_not_run_is_not_kept(session: BatchJob) -> None:
    outcome = session.start(session.job.script("1 +"))
    assert outcome.status == 1
    (said,) = outcome.ours()
    assert "name a program that runs" in said
