"""Ranks started for a trial: the launcher and MPI must say the same of each."""

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

from .complaint import Complaint
from .probe import RANK
from .trees import answers, command_here, command_in_image, usual_python

SECONDS = 120
# How much of what failing ranks say is shown.
LINES = 12


@dataclass(frozen=True)
class Rank:
    """What one process was told: by its launcher, if it has ``launched`` it as a rank, and by MPI."""

    launched: bool
    launcher_size: int | None
    mpi_size: int
    libmpi: str


def trial(profile: str, image: str | None, launcher: list[str]) -> Iterator[str]:
    """Start ranks with a profile, in an image or here, and yield what is wrong. Raises Complaint where none starts."""
    if not shutil.which(launcher[0]):
        raise Complaint(f"there is no command {launcher[0]}: load the module of the MPI")
    program = command_in_image(image, "python3", profile) if image else command_here(usual_python(), profile)
    line = shlex.join(launcher)
    status, output, errors = _run([*launcher, *program, RANK])
    if status is None:
        yield f"{line}: the ranks have not ended within {SECONDS} seconds; is this launcher of the library's MPI?"
        return
    found = answers(output)
    yield from dict.fromkeys(f"{line}: {rank['no_mpi']}" for rank in found if "no_mpi" in rank)
    ranks = [Rank(**{name: rank[name] for name in Rank.__annotations__}) for rank in found if "no_mpi" not in rank]
    if not found:
        said = "".join(f"\n    {text}" for text in errors.splitlines()[-LINES:] if text.strip())
        yield f"{line}: no rank has answered (status {status}); see that this launcher is of the library's MPI:{said}"
    elif ranks:
        yield from _mismatch(line, ranks[0])


def _mismatch(line: str, rank: Rank) -> Iterator[str]:
    if not rank.launched:
        yield (
            f"{line}: no variable that mpiimport knows tells a process its rank; name the launcher's own in "
            "launcher.variables of the profile"
        )
    elif rank.launcher_size is not None and rank.launcher_size != rank.mpi_size:
        yield (
            f"{line}: the launcher says {rank.launcher_size} ranks, and MPI says {rank.mpi_size} in each: "
            f"{rank.libmpi} does not understand this launcher. Use the mpiexec of its MPI, the PMI it was built for "
            "(srun --mpi=pmi2 or pmix), or another library by mpi.library"
        )


def _run(command: list[str]) -> tuple[int | None, str, str]:
    """Run to the end, or end the whole session at the time limit, as status None."""
    # The ranks are to start MPI themselves.
    environment = {**os.environ, "MPIIMPORT_INIT": "off"}
    process = subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None, "", ""
    return process.returncode, output, errors
