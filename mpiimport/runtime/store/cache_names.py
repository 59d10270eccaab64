"""What the places of cached stores are called, and where they may lie; in Go: hooks/internal/leaves/storecache."""

from .. import os
from ..file_systems import IMAGE_LAYERS, image_on
from .image_caches import IN_CONTAINER
from .lock import own_prefix, user

NAME = "mpiimport-cache."
# In a batch job what is kept would take the next job's memory, unless the job script starts a session and ends it.
BATCH_JOBS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "COBALT_JOBID", "JOB_ID")


def batch_job() -> str:
    """Return the identifier of the batch job that this process is part of; empty outside one."""
    return next((found for found in map(os.environ.get, BATCH_JOBS) if found), "")


def of_batch_job() -> str:
    """Return how names of what is kept end in a batch job, so that its epilog knows them; empty outside one."""
    job = "".join(letter if letter.isalnum() else "_" for letter in batch_job())
    return f".{job}" if job else ""


def candidates(parents: list[str], session: str) -> list[str]:
    """Return where the place of this user, or of a session, may lie, in the order in which that is tried."""
    if image_on() == IMAGE_LAYERS:
        return [IN_CONTAINER]
    return [os.path.join(parent, _own_name(session)) for parent in parents]


def _own_name(session: str) -> str:
    if session:
        # Once whoever began it has gone, it is swept as any store is that nobody uses.
        return own_prefix() + os.path.basename(session)
    return f"{NAME}{user()}{of_batch_job()}"
