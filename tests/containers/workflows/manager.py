"""A workflow manager in a virtual environment of its own, started as its users start it."""

import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from lab.processes import running
from lab.ranks import Mpi, Outcome, run
from tests.conftest import ROOT, environment_with
from tests.containers.cells import Site

EXAMPLES = ROOT / "examples" / "workflows"
SECONDS = 240
# A user whom the machine does not know: Apptainer refuses to start a container, as on a node that cannot ask.
STRANGER = "setpriv --reuid=54321 --clear-groups"
# Of ranks that are told to end, and of the keeper of a store.
PATIENCE = 20


def stores() -> frozenset[Path]:
    """What lies in the usual place of stores now."""
    return frozenset(Path("/dev/shm").glob("mpiimport-*"))


@dataclass(frozen=True)
class Manager:
    """``python``: of its environment, or of the tests where it needs no packages; ``directory``: where its files and
    those of its jobs go."""

    site: Site
    mpi: Mpi
    python: Path
    directory: Path
    others: frozenset[Path]
    """Stores of other tests, which lay there before."""

    @classmethod
    def of(cls, site: Site, mpi: Mpi, packages: str) -> "Manager":
        directory = site.workspace("root")
        # Where containers see it.
        shutil.copytree(EXAMPLES, directory, dirs_exist_ok=True)
        return cls(site, mpi, environment_with(packages) if packages else Path(sys.executable), directory, stores())

    @property
    def image(self) -> Path:
        return self.site.image("sif")[1]

    def environment(self, **changes: str) -> dict[str, str]:
        found = self.site.environment("root", self.mpi)
        own = {
            "PATH": f"{self.python.parent}:{self.mpi.prefix / 'bin'}:{found['PATH']}",
            "PYTHONPATH": str(self.site.prefix / "lib"),
            "HOME": str(self.directory),
            "MPIIMPORT": "force",
            "MPI4PY_LIBMPI": str(self.mpi.library),
            "APPTAINERENV_MPI4PY_LIBMPI": found["MPI4PY_LIBMPI"],
            # The table comes at the end of the job's standard error.
            "MPIIMPORT_REPORT": "-",
        }
        return {**found, **own, **changes}

    def run(self, *words: str | Path, **changes: str) -> Outcome:
        return run([str(word) for word in words], self.environment(**changes), SECONDS, self.directory)

    def example(self, name: str, *words: str | Path, **changes: str) -> Outcome:
        return self.run(self.python, name, *words, **changes)

    def flow(self, text: str, *words: str, **changes: str) -> list[str]:
        """Run a workflow with the image and the words as its arguments; return the lines that it prints."""
        script = self.directory / "flow.py"
        script.write_text(text)
        outcome = self.run(self.python, script, self.image, *words, **changes)
        assert outcome.status == 0, outcome.stderr
        return outcome.stdout.splitlines()

    def with_a_runtime_that_fails_once(self) -> dict[str, str]:
        """What has the real runtime fail at the first container, as it does where the user database is not there."""
        runtime, tried = self.directory / "runtime" / "apptainer", self.directory / "tried"
        runtime.parent.mkdir()
        once = f'case $1 in exec) mkdir "{tried}" 2>/dev/null && exec {STRANGER} {self.site.runtime} "$@" ;; esac'
        runtime.write_text(f'#!/bin/sh\n{once}\nexec {self.site.runtime} "$@"\n')
        runtime.chmod(0o755)
        return {"PATH": f"{runtime.parent}:{self.environment()['PATH']}"}

    def throughput(self, times: str) -> list[str]:
        """The figures of the tasks of a file that the manager has written: how many, and the others; drawn as well."""
        outcome = self.run(self.site.tool, "workflow", "throughput", times, "--plot", "tasks.svg", COLUMNS="200")
        assert outcome.status == 0, outcome.stderr
        assert "<svg" in (self.directory / "tasks.svg").read_text()
        (row,) = [line for line in outcome.stdout.splitlines() if Path(times).name in line]
        return row.replace("\u2502", " ").split()[1:]

    def was_served(self, errors: str, ranks: int) -> bool:
        """Tell whether the service was active in the job whose standard error went into that file."""
        text = (self.directory / errors).read_text()
        return f" on {ranks} ranks; figures of all ranks" in text and "other ranks, python modules from memory" in text

    def processes(self) -> list[str]:
        """What still runs in this directory."""
        return [line.replace("\0", " ") for _, line in running(lambda place: place == self.directory)]

    def is_clean(self) -> bool:
        """Tell whether no process is left, after a moment, and no store that the next job does not remove."""
        end = time.monotonic() + PATIENCE
        while self.processes() and time.monotonic() < end:
            time.sleep(0.2)
        self.run(
            *self.mpi.command(2),
            self.site.apptainer(),
            "exec",
            "--mpiimport=mpich",
            self.image,
            "python3",
            "simulation.py",
        )
        return self.processes() == [] and stores() <= self.others
