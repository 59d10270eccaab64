"""Snakemake: its containers are started by Apptainer, which it hands further options.

Snakemake's manual, "Running jobs in containers": ``--software-deployment-method apptainer``, ``--apptainer-args``.
"""

import shlex

from mpiimport.runtime import PREFIX

from .job import Job, assigned


def command(job: Job) -> list[str]:
    """Return the command line, to which targets and other options are added."""
    flag = "--mpiimport" + (f"={job.profile_name}" if job.profile else "")
    return ["snakemake", "--sdm", "apptainer", f"--apptainer-args={shlex.join([flag, *job.options])}"]


def shown(job: Job) -> str:
    """Return a rule, and the command line that runs it."""
    launcher = shlex.join([*job.launcher, "-n", str(job.ranks)]) + " " if job.ranks > 1 else ""
    # Snakemake puts its own values in the place of what stands between braces.
    shell = assigned(job.variables(), launcher + shlex.join(job.program)).replace("{", "{{").replace("}", "}}")
    return (
        f'rule {job.name.replace("-", "_")}:\n    output: "{job.name}.done"\n    container: {job.image!r}\n'
        f"    threads: {job.ranks * max(job.threads, 1)}\n    shell: {shell + ' && touch {output}'!r}\n\n"
        f"PATH={PREFIX}/shim:$PATH {shlex.join(command(job))} --cores all\n"
    )
