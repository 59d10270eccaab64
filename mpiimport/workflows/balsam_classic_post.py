"""What Balsam 0.5 runs when a job has ended: one that failed on a node's whim is started again.

Balsam runs it in the job's directory, with nearly no environment, after each job; so it does little where all is well.
"""

import os
import sys
from pathlib import Path

FAILED, TIMEOUT = "BALSAM_JOB_ERROR", "BALSAM_JOB_TIMEOUT"
# Of the job's history, as Balsam writes it.
STARTED, KILLED = " RUNNING]", " USER_KILLED]"
# Characters of the output that the history keeps.
LAST = 10_000


def main() -> None:
    # In the place of this directory, in which balsam is another module.
    sys.path[0] = str(Path(__file__).resolve().parents[2])
    from balsam.launcher.dag import current_job

    from mpiimport.workflows.transient import TRIES, passing_failure, tail, was_interrupted

    if KILLED in current_job.state_history:
        # Its processes ended later, which Balsam takes for a failure.
        current_job.update_state(KILLED.strip(" ]"))
        return
    output = tail(f"{current_job.name}.out")
    failure = passing_failure(output)
    # The end of the allocation may reach the ranks before Balsam.
    if not failure and (os.environ.get(TIMEOUT) or was_interrupted(output)):
        failure = "the allocation ended before the job"
    tried = current_job.state_history.count(STARTED)
    if failure and tried < TRIES:
        current_job.update_state("RESTART_READY", f"mpiimport: {failure}; try {tried + 1} of {TRIES}")
    else:
        said = f"{failure}, {tried} times" if failure else "the program failed"
        current_job.update_state("FAILED", f"mpiimport: {said}\n{output[-LAST:]}")


if __name__ == "__main__" and (os.environ.get(FAILED) or os.environ.get(TIMEOUT)):
    main()
