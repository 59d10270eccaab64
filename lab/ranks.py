"""Launching MPI ranks under a hard time limit."""

import os
import select
import signal
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

# Variables of the machine or the developer that would change what is measured.
UNWANTED = ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "PYTHONUNBUFFERED", "PYTHONHOME", "LD_LIBRARY_PATH")

# How many times as long as on a usual machine a command may take.
PATIENCE = float(os.environ.get("LAB_PATIENCE", "1"))

HYDRA_LOST = "process manager error waiting for completion"


@dataclass(frozen=True)
class Mpi:
    """An MPI implementation in a prefix of its own, with the launcher that is used of it.

    ``divides``: the launcher divides the processors of a node among its ranks, so each sees fewer where they are more.
    """

    name: str
    prefix: Path
    library: Path
    options: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    launcher: str = field(default="mpiexec", kw_only=True)
    divides: bool = field(default=False, kw_only=True)

    def command(self, ranks: int) -> list[str]:
        return [str(self.prefix / "bin" / self.launcher), *self.options, "-n", str(ranks)]


@dataclass(frozen=True)
class Outcome:
    """How a launch ended. ``status`` is None where it had to be stopped at the time limit."""

    status: int | None
    stdout: str
    stderr: str

    def lines(self) -> list[str]:
        """The lines printed on stdout, in no particular order of ranks."""
        return sorted(self.stdout.splitlines())

    def printed(self) -> list[str]:
        """The lines of a launch that ended well, and of which mpiimport said nothing."""
        assert (self.status, self.ours()) == (0, []), self.stderr
        return self.lines()

    def ends_as(self, other: "Outcome") -> bool:
        """Whether both have one status. Hydra may lose a killed rank's proxy, and then has a status of its own."""
        lost = HYDRA_LOST in self.stderr or HYDRA_LOST in other.stderr
        return self.status == other.status or (lost and bool(self.status and other.status))

    def ours(self) -> list[str]:
        """The lines that mpiimport printed on stderr."""
        # Open MPI 4 ends what it says itself by a NUL.
        return [line for line in self.stderr.replace("\0", "").splitlines() if line.startswith("mpiimport")]


def clean_environment(**changes: str) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in UNWANTED and not name.startswith(("MPIIMPORT", "PMI", "OMPI_", "MPI4PY", "HYDRA"))
    }
    return {**kept, **changes}


def run(
    command: list[str], environment: dict[str, str], seconds: float = 120, directory: Path | None = None
) -> Outcome:
    """Run a command to its end, or stop its whole session at the time limit. Output goes through files, so that
    an orphan that keeps a pipe open cannot keep the test from ending."""
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            cwd=directory,
            start_new_session=True,
        )
        status: int | None = None
        try:
            if _ends_within(process.pid, seconds * PATIENCE):
                status = process.wait()
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        texts = []
        for stream in (stdout, stderr):
            stream.seek(0)
            texts.append(stream.read().decode(errors="replace"))
        return Outcome(status, *texts)


def _ends_within(pid: int, seconds: float) -> bool:
    """Wait for a child's end. ``Popen.wait`` would look every 50 ms, and walls be multiples of that."""
    process = os.pidfd_open(pid)
    try:
        ended = select.poll()
        ended.register(process, select.POLLIN)
        return bool(ended.poll(seconds * 1000))
    finally:
        os.close(process)
