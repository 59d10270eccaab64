"""A manager whose servers and jobs have a network of their own."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from lab.daemons import Daemons
from lab.processes import running
from lab.ranks import Outcome, run
from tests.containers.workflows import manager


@dataclass(frozen=True)
class Apart(manager.Manager):
    """A manager that runs in the network of its daemons; its tasks run below a directory of their own."""

    daemons: Daemons

    @classmethod
    def apart(cls, plain: manager.Manager, daemons: Daemons) -> Self:
        return cls(plain.site, plain.mpi, plain.python, plain.directory, plain.others, daemons)

    @property
    def tasks(self) -> Path:
        raise NotImplementedError

    def run(self, *words: str | Path, **changes: str) -> Outcome:
        command = [*self.daemons.inside, *map(str, words)]
        return run(command, self.environment(**changes), manager.SECONDS, self.directory)

    def processes(self) -> list[str]:
        """What still runs of tasks."""
        return [line.replace("\0", " ") for _, line in running(lambda place: place.is_relative_to(self.tasks))]
