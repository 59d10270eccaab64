"""Short tasks of one node, while some are killed, and what fills their store: the others are right, and nothing stays."""

import os
import random
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from lab.processes import running
from lab.ranks import Mpi, run
from tests.conftest import Job, wait_for

AT_ONCE, MODULES = 20, 30
TASKS, KILLED, FILLERS_KILLED = 1000, 50, 5
# The tree is changed so often. Fillings for a program are ten seconds apart, so that tasks must not be too short.
EACH, SECONDS = 250, 3
LIMIT = 8 << 20
PARTS = ", ".join(f"part{number}" for number in range(MODULES))
PROGRAM = f"""
import email.message, json, logging, sys, time
from pack import {PARTS}
served = type(getattr(part0.__loader__, "source", None)).__name__ == "Imports"
print(sys.argv[1], part0.value, sum(part.value for part in ({PARTS})[1:]), "served" if served else "plain")
time.sleep({SECONDS})
"""


class Farm:
    """What runs, and what the tree holds by now."""

    def __init__(self, job: Job, environment: dict[str, str], store: Path) -> None:
        self.package = job.directory / "lib" / "pack"
        self.package.mkdir(parents=True)
        (self.package / "__init__.py").touch()
        for number in range(MODULES):
            (self.package / f"part{number}.py").write_text(f"value = {number}\n")
        self.directory, self.environment, self.store = job.directory, environment, store
        self.words = [*job.python("early"), str(job.script(PROGRAM))]
        self.generation = self.most = self.fillers_killed = 0
        self.chance = random.Random(16)
        self.victims = {*self.chance.sample(range(TASKS), KILLED)}
        self.over = threading.Event()

    def task(self, number: int) -> str:
        """Run a task, and return how it ended: killed, or as its own last word says. Fails where it is wrong."""
        if number and number % EACH == 0:
            self.change(number // EACH)
        before = self.generation
        with subprocess.Popen(
            [*self.words, str(number)],
            env=self.environment,
            cwd=self.directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            if number in self.victims:
                time.sleep(self.chance.uniform(0, SECONDS))
                process.kill()
            stdout, stderr = process.communicate(timeout=120)
        if number in self.victims and process.returncode:
            return "killed"
        assert (process.returncode, stderr) == (0, "")
        said, value, rest, way = stdout.split()
        assert (int(said), int(rest)) == (number, sum(range(MODULES)))
        assert before <= int(value) <= self.generation
        return way

    def change(self, generation: int) -> None:
        """Have a module another value. Its size is another each time, as Python tells pycs by size and second."""
        new = self.package / "new"
        new.write_text(f"value = {generation}\n{'#' * generation}\n")
        self.generation = generation
        new.rename(self.package / "part0.py")

    def fillers(self) -> list[int]:
        """Return what tasks have left behind."""
        found = []
        for pid, _ in running(lambda directory: directory == self.directory):
            with suppress(OSError):
                if os.getsid(pid) != os.getsid(0):
                    found.append(pid)
        return found

    def watch(self) -> None:
        """Kill fillers, and note how much memory all stores take."""
        while not self.over.wait(0.05):
            sizes = []
            for path in self.store.rglob("*"):
                with suppress(OSError):
                    sizes.append(path.stat().st_blocks * 512)
            self.most = max(self.most, sum(sizes))
            for pid in self.fillers()[: FILLERS_KILLED - self.fillers_killed]:
                time.sleep(self.chance.uniform(0, 0.5))
                with suppress(OSError):
                    os.kill(pid, 9)
                    self.fillers_killed += 1


@pytest.mark.full
def test_tasks_are_right_while_others_and_fillers_are_killed(job: Job, mpich: Mpi, tmp_path: Path) -> None:
    store = tmp_path / "stores"
    store.mkdir()
    variables = {"MPIIMPORT_KEEP": "auto", "MPIIMPORT_STORE": str(store), "MPIIMPORT_STORE_SIZE": f"{LIMIT >> 20}MiB"}
    environment = job.environment(mpich, MPIIMPORT="1", PYTHONPATH=str(job.directory / "lib"), **variables)
    farm = Farm(job, environment, store)
    watching = threading.Thread(target=farm.watch)
    watching.start()
    try:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            ends = list(pool.map(farm.task, range(TASKS)))
    finally:
        farm.over.set()
        watching.join()
    ways = {way: ends.count(way) for way in ("killed", "plain", "served")}
    assert sum(ways.values()) == TASKS and ways["killed"] > KILLED / 2 and ways["served"] > TASKS / 4, ways
    assert farm.fillers_killed == FILLERS_KILLED
    assert 0 < farm.most <= LIMIT
    wait_for(lambda: not farm.fillers())
    stopped = run([str(job.prefix / "bin" / "mpiimport"), "session", "stop"], environment, 60)
    assert stopped.status == 0, stopped.stderr
    assert not list(store.iterdir())
