"""A farm: many short tasks of one program on one node, whose tree changes meanwhile, and some of which are killed."""

import os
import random
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from .processes import running

MODULES = 30
PARTS = ", ".join(f"part{number}" for number in range(MODULES))
# Prints the word it is given, what it found in the tree, and where that came from; stays for the seconds it is given.
PROGRAM = f"""
import email.message, json, logging, sys, time
from pack import {PARTS}
served = type(getattr(part0.__loader__, "source", None)).__name__ == "Imports"
total = sum(part.value for part in ({PARTS})[1:])
print(f"{{sys.argv[1]}} {{part0.value}} {{total}} {{'served' if served else 'plain'}}", flush=True)
time.sleep(float(sys.argv[2]))
"""


class Tree:
    """What all tasks import. ``generation`` says what is to be found in it by now."""

    def __init__(self, directory: Path) -> None:
        self.package = directory / "pack"
        self.package.mkdir(parents=True)
        (self.package / "__init__.py").touch()
        for number in range(MODULES):
            (self.package / f"part{number}.py").write_text(f"value = {number}\n")
        self.generation = 0

    def change(self) -> None:
        """Have a module another value. Its size is another each time, as Python tells pycs by size and second."""
        new = self.package / "new"
        new.write_text(f"value = {self.generation + 1}\n{'#' * (self.generation + 1)}\n")
        self.generation += 1
        new.rename(self.package / "part0.py")

    def way(self, said: str, word: str, before: int) -> str:
        """Return where a task's modules came from: ``served`` or ``plain``.

        Raises ValueError where it found what was not there. ``said``: what it printed; ``before``: the generation when
        it began.
        """
        first, value, total, way = said.split()
        if (first, int(total)) != (word, sum(range(MODULES))) or not before <= int(value) <= self.generation:
            raise ValueError(f"a task of generations {before} to {self.generation} said {said}")
        return way


@dataclass
class Farm:
    """Tasks that keep a store. ``words``: the command line, less the task's own word."""

    tree: Tree
    words: Sequence[str]
    environment: dict[str, str]
    directory: Path
    store: Path
    ended: list[str] = field(default_factory=list)

    def task(self, word: str, seconds: float, disturb: Callable[[subprocess.Popen[str]], None] | None = None) -> str:
        """Run a task and return how it ended: served, plain, or killed. Raises ValueError where it is wrong.

        ``disturb``: is given the process once it has begun, and may kill it.
        """
        before = self.tree.generation
        with subprocess.Popen(
            [*self.words, word, str(seconds)],
            env=self.environment,
            cwd=self.directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            if disturb:
                disturb(process)
            stdout, stderr = process.communicate(timeout=120)
        if disturb and process.returncode:
            way = "killed"
        elif process.returncode or stderr:
            raise ValueError(f"task {word}: status {process.returncode}: {stderr}")
        else:
            way = self.tree.way(stdout, word, before)
        self.ended.append(way)
        return way

    def fillers(self) -> list[int]:
        """Return the processes that tasks have left behind."""
        found = []
        for pid, _ in running(lambda directory: directory == self.directory):
            with suppress(OSError):
                if os.getsid(pid) != os.getsid(0):
                    found.append(pid)
        return found

    def stored(self) -> int:
        """Return the bytes that all stores take; what they share counts once."""
        sizes = {}
        for path in self.store.rglob("*"):
            with suppress(OSError):
                status = path.stat()
                sizes[status.st_ino] = status.st_blocks * 512
        return sum(sizes.values())


@dataclass(frozen=True)
class Disturbances:
    """What befalls a farm. ``each``: after so many tasks the tree changes; ``seconds``: each task stays so long."""

    tasks: int
    at_once: int
    killed: int
    fillers_killed: int
    each: int
    seconds: float


@dataclass
class Watched:
    """What was seen meanwhile. ``stored``: bytes that all stores took, by the seconds since the first task began."""

    fillers_killed: int = 0
    stored: list[tuple[float, int]] = field(default_factory=list)


def run_disturbed(farm: Farm, what: Disturbances, seed: int) -> Watched:
    """Run all tasks of a farm, killing some of them, and fillers. Raises ValueError where a task is wrong."""
    chance = random.Random(seed)
    victims = {*chance.sample(range(what.tasks), what.killed)}
    watched, over, began = Watched(), threading.Event(), time.monotonic()

    def kill(process: subprocess.Popen[str]) -> None:
        time.sleep(chance.uniform(0, what.seconds))
        process.kill()

    def task(number: int) -> None:
        if number and number % what.each == 0:
            farm.tree.change()
        farm.task(str(number), what.seconds, kill if number in victims else None)

    def watch() -> None:
        while not over.wait(0.05):
            watched.stored.append((time.monotonic() - began, farm.stored()))
            for pid in farm.fillers()[: what.fillers_killed - watched.fillers_killed]:
                time.sleep(chance.uniform(0, 0.5))
                with suppress(OSError):
                    os.kill(pid, 9)
                    watched.fillers_killed += 1

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        with ThreadPoolExecutor(what.at_once) as pool:
            list(pool.map(task, range(what.tasks)))
    finally:
        over.set()
        watching.join()
    return watched
