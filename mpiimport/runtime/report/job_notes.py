"""What a job got, for the `mpiimport run` that has started it: a small file in a directory that it names."""

from .. import open, os
from .outcome import Outcome

JOB = "_MPIIMPORT_JOB"
# A file for each rank 0; one for all tasks that start the same way. See hooks/internal/leaves/jobnotes.
RANK, TASK = "rank-", "task-"
# In the place of the way, where this process has printed why it is plain.
SAID = "said"


class JobNotes:
    """The note of this process, where it speaks for a job that is watched; a later one replaces an earlier one."""

    def __init__(self) -> None:
        self._directory = ""
        self._is_task = False
        self._name = ""
        self._pid = 0
        self._told: Outcome | None = None

    def begin(self, is_task: bool, speaks: bool) -> None:
        """Take the directory from the environment. ``is_task``: this is no rank; ``speaks``: root, or a task."""
        directory = os.environ.pop(JOB, "")
        if speaks and directory.startswith("/"):
            self._directory, self._pid, self._is_task = directory, os.getpid(), is_task
            self._name = RANK + os.urandom(8).hex()

    def hand_back(self) -> None:
        """Leave the directory to what this process is about to become."""
        if self._directory:
            os.environ[JOB] = self._directory

    def tell(self, outcome: Outcome, said: bool = False) -> None:
        """Leave word of an outcome, which this process may have ``said`` itself, too.

        Never raises: where the directory is not there, nobody asks.
        """
        if not self._directory or os.getpid() != self._pid:
            return
        name = TASK + outcome.way if self._is_task else self._name
        self._told = outcome
        first = SAID if said else outcome.way
        try:
            # Named so while it is incomplete, it is not read.
            part = os.path.join(self._directory, f".{self._name}")
            with open(part, "w", encoding="utf-8", errors="backslashreplace") as stream:
                stream.write(f"{first}\n{outcome.line()}\n")
            os.rename(part, os.path.join(self._directory, name))
        except (OSError, ValueError):
            self._directory = ""

    def tell_modules(self, provided: int, others: int) -> None:
        """At the end of a job that is served, add to its note how many of the modules came that way."""
        if self._told is not None:
            self._told.provided, self._told.modules = provided, provided + others
            self.tell(self._told)


notes = JobNotes()
