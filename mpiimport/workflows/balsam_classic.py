"""Balsam 0.5 (balsam-flow), the one with a database and no server: an application, and jobs of it.

Balsam's user guide, "The Balsam Database"; ALCF's article "Containerizing Single Node MPI Applications for High
Throughput". For Balsam 0.7 see ``balsam.py``.
"""

import getpass
import shlex
import sys
from os.path import expanduser
from pathlib import Path
from typing import Any

from mpiimport.host.complaint import Complaint

from .balsam import MPI, checked, resources
from .inherited import without_rank
from .installed import installed
from .job import Job

PACKAGES = "'mpiimport[balsam-classic]'"
MODELS = "balsam.core.models"
POST = Path(__file__).with_name("balsam_classic_post.py")


def application(job: Job, mode: str = MPI) -> Any:
    """Return Balsam's ``ApplicationDefinition`` for the job, which is made or brought up to date.

    Raises Complaint where the job cannot be started.
    """
    job = checked(job, mode)
    definitions = installed(MODELS, PACKAGES).ApplicationDefinition.objects
    return definitions.update_or_create(name=job.name, defaults=_definition(job, mode))[0]


def balsam_job(job: Job, *arguments: str, mode: str = MPI, workflow: str = "", **others: Any) -> Any:
    """Return a ``BalsamJob``, saved, that runs the job with further words behind its program.

    A start that fails on a node's whim is tried again, and so is a job that the end of its allocation has interrupted.
    ``others``: fields of a BalsamJob. Raises Complaint where the job cannot be started.
    """
    job = checked(job, mode)
    made = application(job, mode)
    fields = {"workflow": workflow, **_fields(job, mode, arguments), "application": made.name, **others}
    task = installed(MODELS, PACKAGES).BalsamJob(**fields)
    task.save()
    return task


def shown(job: Job) -> str:
    """Return what Balsam is given."""
    given = (("ApplicationDefinition", _definition(job, MPI)), ("BalsamJob", _fields(job, MPI, ())))
    return "".join(
        f"{name}(\n    name={job.name!r},\n"
        + "".join(f"    {field}={value!r},\n" for field, value in fields.items() if field != "name")
        + ")\n"
        for name, fields in given
    )


def _definition(job: Job, mode: str) -> dict[str, str]:
    return {"executable": _line(job, _words(job, mode)[0]), "postprocess": f"{sys.executable} {POST}"}


def _fields(job: Job, mode: str, arguments: tuple[str, ...]) -> dict[str, Any]:
    return {
        "name": job.name,
        "args": _line(job, [*_words(job, mode)[1], *arguments]),
        **resources(job, mode),
        "environ_vars": _who_asks(),
        "post_error_handler": True,
        "post_timeout_handler": True,
    }


def _words(job: Job, mode: str) -> tuple[list[str], list[str]]:
    """Return what starts a rank, or the whole job: the words that all jobs of the application share, and the others."""
    is_rank = job.is_launched_outside and mode == MPI
    words = job.rank_words() if is_rank else job.words()
    shared = 2 if words[1:2] in (["exec"], ["run"]) else 1
    assigned = [f"{name}={value}" for name, value in job.variables().items()]
    first = [*(["env", *assigned] if assigned else []), *words[:shared]]
    return first if is_rank else without_rank(first), words[shared:]


def _who_asks() -> str:
    """Return what a node must know of the user where it cannot ask the user database; Balsam itself asks, too."""
    known = {"HOME": str(Path.home()), "LOGNAME": getpass.getuser(), "USER": getpass.getuser()}
    return ":".join(f"{name}={value}" for name, value in known.items() if ":" not in value)


def _line(job: Job, words: list[str]) -> str:
    line = shlex.join(words)
    # What Balsam makes of it.
    read = shlex.split(" ".join(expanduser(word) for word in line.split()))  # noqa: PTH111
    if read != words:
        (changed, *_) = [word for word, found in zip(words, [*read, *words], strict=False) if word != found]
        raise Complaint(
            f"job {job.name} has the word {changed!r}, in which Balsam would change blanks or a ~; put it into a file"
        )
    return line
