"""Tasks that inherit the environment of a rank, as those of a worker that mpiexec has started.

Balsam's serial mode is such a worker. The rank's own connection to its launcher is dead in a task: MPI_Init would fail
there, and an mpiexec would take itself for a part of the outer job.
"""

from mpiimport.rank_variables import PREFIXES, VARIABLES


def without_rank(words: list[str]) -> list[str]:
    """Return a command that runs the words as no rank, whatever has started it."""
    others = [name for row in VARIABLES for name in row if name and not name.startswith(PREFIXES)]
    names = [*(f"${{!{prefix}@}}" for prefix in PREFIXES), *dict.fromkeys(others)]
    return ["bash", "-c", f'unset {" ".join(names)}; exec "$@"', "bash", *words]
