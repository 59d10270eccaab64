"""Ranks started for a trial: what the launcher and MPI say of each must agree."""

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..complaint import Complaint
from ..machine.launchers import Launcher
from ..machine.trees import answers, command_here, command_in_image, usual_python
from ..probe.answer import RANK
from .pmi import SLURM, library_speech, offer, remedy

SECONDS = 120
# How much of what failing ranks say is shown.
LINES = 12


@dataclass(frozen=True)
class Rank:
    """What one process was told: by its launcher, if it has ``launched`` it as a rank, and by MPI.

    ``mpi``: what the library calls itself; ``pmix``: the version of its PMIx, if it has one; ``told``: by what the
    launcher tells ranks of each other, PMIx with its version, or PMI, or neither.
    """

    launched: bool
    launcher_size: int | None
    mpi_size: int
    libmpi: str
    mpi: str
    pmix: str
    told: str


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
        yield from _mismatch(launcher, ranks[0])


def _mismatch(launcher: list[str], rank: Rank) -> Iterator[str]:
    line = shlex.join(launcher)
    if not rank.launched:
        yield (
            f"{line}: no variable that mpiimport knows tells a process its rank; name the launcher's own in "
            f"launcher.variables of the profile{_how_to_tell(launcher, rank)}"
        )
    elif rank.launcher_size is not None and rank.launcher_size != rank.mpi_size:
        yield (
            f"{line}: the launcher says {rank.launcher_size} ranks, and MPI says {rank.mpi_size} in each: "
            f"{rank.libmpi} does not understand this launcher, which tells ranks by {rank.told or 'no PMI'}. Use the "
            f"mpiexec of its MPI, or another library by mpi.library{_how_to_tell(launcher, rank)}"
        )


def _how_to_tell(launcher: list[str], rank: Rank) -> str:
    """For srun, which way suits the library."""
    wanted = library_speech(rank.mpi, rank.pmix)
    if Path(launcher[0]).name != SLURM or wanted is None:
        return ""
    return f"; {rank.libmpi} speaks {wanted}: {remedy(offer(Launcher(launcher[0], '', '')), wanted)}"


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
