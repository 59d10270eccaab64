"""The class that Balsam's sites and launchers make of a job. Imported where Balsam is."""

import shlex
from typing import Any, ClassVar

from balsam.api import ApplicationDefinition, EventLog, JobState

from . import balsam
from .job import Job
from .transient import TRIES, passing_failure, tail, was_interrupted

OUTPUT = "job.out"
# Characters of it that an event keeps: what the program and mpiimport said, and what mpiexec said then.
LAST = 10_000
ENDED = "the allocation ended before the task"


class _Definitions(type(ApplicationDefinition)):  # type: ignore[misc]
    @property
    def source_code(cls) -> str:
        """What `balsam app ls` shows; a class that is made has no source."""
        return balsam.shown(cls.definition)


class Application(ApplicationDefinition, metaclass=_Definitions):  # type: ignore[misc]
    """Runs the job ``definition`` in ``mode`` mpi or serial, up to ``tries`` times. A class of one's own names them."""

    site: Any = ""
    definition: Job
    mode = balsam.MPI
    tries = TRIES
    command_template = "{{arguments}}"
    parameters: ClassVar[dict[str, Any]] = {}

    @classmethod
    def sync(cls, *others: Any, **options: Any) -> None:
        """Tell the server of this class. Raises Complaint where its job cannot be started."""
        balsam.checked(cls.definition, cls.mode)
        super().sync(*others, **options)

    @classmethod
    def submit(cls, workdir: Any, *arguments: str, **options: Any) -> Any:
        """Submit a task; ``arguments``: words behind the program; ``options``: those of Balsam."""
        resources = balsam.resources(cls.definition, cls.mode)
        return super().submit(workdir, **{**resources, "arguments": shlex.join(arguments), **options})

    def get_arg_str(self) -> str:
        arguments = shlex.split(self.job.get_parameters()["arguments"])
        return balsam.command(self.definition, self.mode, *arguments)

    def handle_error(self) -> None:
        output = tail(OUTPUT)
        # The end of the allocation may reach the ranks before Balsam.
        failure = passing_failure(output) or (ENDED if was_interrupted(output) else "")
        self._tried_again(failure, output) if failure else self._failed("the program failed", output)

    def handle_timeout(self) -> None:
        output = tail(OUTPUT)
        self._tried_again(passing_failure(output) or ENDED, output)

    def _tried_again(self, failure: str, output: str) -> None:
        # Balsam may hand in one start twice: as one that took too long, and as one that failed when it was ended.
        tried = EventLog.objects.filter(job_id=self.job.id, to_state=JobState.running.value).count()
        if tried >= self.tries:
            return self._failed(f"{failure}, {tried} times", output)
        self.job.state = JobState.restart_ready
        self.job.state_data = {"message": f"mpiimport: {failure}; try {tried + 1} of {self.tries}"}
        return None

    def _failed(self, failure: str, output: str) -> None:
        self.job.state = JobState.failed
        self.job.state_data = {"message": f"mpiimport: {failure}", "output": output[-LAST:]}
