"""The batch job that a process is part of: what is kept in it ends with it."""

from .. import os

# In a batch job what is kept would take the next job's memory, unless the job script starts a session and ends it.
BATCH_JOBS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "COBALT_JOBID", "JOB_ID")


def batch_job() -> str:
    """Return the identifier of the batch job that this process is part of; empty outside one."""
    return next((found for found in map(os.environ.get, BATCH_JOBS) if found), "")


def of_batch_job() -> str:
    """Return how names of what is kept end in a batch job, so that its epilog knows them; empty outside one."""
    job = "".join(letter if letter.isalnum() else "_" for letter in batch_job())
    return f".{job}" if job else ""
