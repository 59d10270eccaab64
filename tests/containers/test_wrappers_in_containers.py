"""A container's command that is a wrapper or a console script fills and is served, as python does and is."""

from pathlib import Path

import pytest

from lab.ranks import Mpi
from tests.conftest import settle
from tests.containers.cells import Site
from tests.containers.node import Node, node_of

PROGRAM = """#!/usr/bin/env {python}
import json, os
open(os.environ["RESULT"], "a").close()
print(type(json.__loader__).__name__, flush=True)
"""
SERVED, PLAIN = ["StoreSourceLoader"] * 2, ["SourceFileLoader"] * 2
# Commands for the script, and whether MPI may be started for it.
ALONE = ["timeout", "60", "sh", "-c"]
COMMANDS = {
    "timeout": (["timeout", "60", "python3", "{}"], True),
    "sh": ([*ALONE, "export A=1; python3 {}; true"], False),
}


@pytest.fixture
def sandbox(site: Site, mpis: dict[str, Mpi]) -> Node:
    return node_of(site, mpis, "sandbox", "root", "mpich")


def variables(node: Node, **more: str) -> dict[str, str]:
    stores = node.workspace / "stores"
    stores.mkdir(exist_ok=True)
    own = {"RESULT": str(node.workspace / "result"), "MPIIMPORT_STORE": str(stores), "MPIIMPORT": "force"}
    return {**own, "XDG_CACHE_HOME": str(node.workspace / "cache"), **more}


def script(node: Node, python: str = "python3") -> Path:
    path = node.script(PROGRAM.format(python=python))
    path.chmod(0o755)
    settle(path)
    return path


def test_the_one_python_of_a_wrapper_is_served(sandbox: Node) -> None:
    path = script(sandbox)
    for words, is_alone in COMMANDS.values():
        command = sandbox.start(*(word.format(path) for word in words), per_node=False)
        outcome = sandbox.run(*command, ranks=2, **variables(sandbox))
        assert outcome.printed() == SERVED if is_alone else PLAIN
        assert ("start it by /.mpiimport/bin/python-mpi" in outcome.stderr) is not is_alone


def test_a_session_fills_by_a_console_script_and_serves_behind_wrappers(sandbox: Node) -> None:
    path = script(sandbox)
    for filler in ([str(path)], ["python3", str(path)]):
        start = [
            sandbox.site.tool,
            "session",
            "start",
            "--",
            *sandbox.mpi.command(1),
            *sandbox.start(*filler, per_node=False),
        ]
        filled = sandbox.launch(start, **variables(sandbox))
        assert (filled.status, filled.stdout, (sandbox.workspace / "result").exists()) == (0, "", False), filled.stderr
    for command in ([str(path)], [*ALONE, f"python3 {path}; true"], ["python3", str(path)]):
        line = sandbox.start(*command, per_node=False)
        outcome = sandbox.run(*line, ranks=2, **variables(sandbox, MPIIMPORT_CACHE="session"))
        assert (outcome.status, outcome.lines()) == (0, SERVED), outcome.stderr


def test_a_script_that_would_run_is_refused(sandbox: Node) -> None:
    path = script(sandbox, "-S python3 -I")
    start = [
        sandbox.site.tool,
        "session",
        "start",
        "--",
        *sandbox.mpi.command(1),
        *sandbox.start(str(path), per_node=False),
    ]
    refused = sandbox.launch(start, **variables(sandbox))
    assert refused.status and not (sandbox.workspace / "result").exists()
    assert f"nothing was run, and nothing is filled: {path} starts python3 -I" in refused.stderr


def test_a_run_says_that_no_rank_took_part(sandbox: Node) -> None:
    path = script(sandbox)
    for python, got in (("python3", PLAIN), ("/.mpiimport/bin/python-mpi", SERVED)):
        line = sandbox.start("sh", "-c", f"unset PYTHONPATH; exec {python} {path}", per_node=False)
        outcome = sandbox.launch([sandbox.site.tool, "run", "--", *sandbox.mpi.command(2), *line], **variables(sandbox))
        assert (outcome.status, outcome.lines()) == (0, got), outcome.stderr
        expected = "no rank of this job took part" if got == PLAIN else "2 ranks: served"
        assert expected in outcome.stderr and ("by /.mpiimport/bin/python-mpi\n" in outcome.stderr) is (got == PLAIN)
