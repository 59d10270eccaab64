"""Ranks started for a trial: what the launcher and MPI say of each must agree."""

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mpiimport.runtime.size import in_words

from ..complaint import Complaint
from ..machine.launchers import Launcher
from ..machine.trees import answers, command_here, command_in_image, usual_python
from ..probe.answer import MESSAGE, MESSAGE_SIZE, RANK
from .pmi import SLURM, library_speech, offer, remedy

# The ranks of the message give up before its launcher is ended.
SECONDS, MESSAGE_SECONDS, GRACE_SECONDS = 120, 60, 5
# The profiles of MPIs, by what these call themselves.
PROFILES = {"Open MPI": "openmpi", "Intel": "intel", "MVAPICH": "mvapich"}
# How much of what failing ranks say is shown.
LINES = 12


@dataclass(frozen=True)
class Rank:
    """What one process learned: from its launcher, if it has ``launched`` it as a rank, and from MPI.

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


@dataclass(frozen=True)
class Trial:
    """What is wrong, and how many ranks there were, 0 where none has answered."""

    wrong: list[str]
    ranks: int = 0


def trial(profile: str, image: str | None, launcher: list[str], python: str | None = None) -> Trial:
    """Start ranks with a profile, in an image or here. Raises Complaint where none starts."""
    if not shutil.which(launcher[0]):
        raise Complaint(f"there is no command {launcher[0]}: load the module of the MPI")
    if image:
        program = command_in_image(image, python or "python3", profile)
    else:
        program = command_here(python or usual_python(), profile)
    line = shlex.join(launcher)
    status, output, errors = _run([*launcher, *program, RANK], SECONDS)
    if status is None:
        late = f"{line}: the ranks have not ended within {SECONDS} seconds; is this launcher of the library's MPI?"
        return Trial([late])
    found = answers(output)
    if not found:
        unheard = f"{line}: no rank has answered (status {status}); see that this launcher is of the library's MPI"
        last = _last(errors)
        return Trial([f"{unheard}:{last}" if last else unheard])
    wrong = list(dict.fromkeys(f"{line}: {rank['no_mpi']}" for rank in found if "no_mpi" in rank))
    ranks = [Rank(**{name: rank[name] for name in Rank.__annotations__}) for rank in found if "no_mpi" not in rank]
    if ranks:
        wrong += _mismatch(launcher, ranks[0])
    if ranks and not wrong:
        wrong += _message([*launcher, *program, MESSAGE], line, ranks[0], image)
    return Trial(wrong, len(ranks))


def _message(command: list[str], line: str, rank: Rank, image: str | None) -> Iterator[str]:
    """Let ranks exchange a large message, for which many MPIs copy from the memory of another process."""
    if rank.mpi_size < 2:
        return
    status, output, errors = _run(command, MESSAGE_SECONDS)
    failures = [str(found["failed"]) for found in answers(output) if "failed" in found]
    if status == 0 and not failures:
        return
    why = failures[0] if failures else "it does not arrive" if status is None else f"status {status}{_last(errors)}"
    fails = f"a message of {in_words(MESSAGE_SIZE)} between two of them fails: {why}"
    yield f"{line}: the ranks start, but {fails}. {_cure(rank.mpi, image)}"


def _cure(mpi: str, image: str | None) -> str:
    if not image:
        return f"{mpi} cannot copy between two processes of this node; its documentation has the switch for that"
    name = next((profile for speaks, profile in PROFILES.items() if speaks in mpi), "mpich")
    return (
        f"Ranks in containers of their own may not read each other's memory: name the profile of their MPI "
        f"(--mpiimport={name}), or let them share a container (container.per_node in a profile)"
    )


def _last(errors: str) -> str:
    return "".join(f"\n    {text}" for text in errors.splitlines()[-LINES:] if text.strip())


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


def _run(command: list[str], seconds: float) -> tuple[int | None, str, str]:
    """Run to the end, or end it at the time limit, as status None.

    Output goes to files: a process that the launcher has left behind may keep a pipe open.
    """
    # The ranks are to start MPI themselves.
    environment = {**os.environ, "MPIIMPORT_INIT": "off"}
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, start_new_session=True
        )
        status = None
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            _end(process)
        texts = []
        for stream in (stdout, stderr):
            stream.seek(0)
            texts.append(stream.read().decode(errors="replace"))
    return status, texts[0], texts[1]


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Ask a launcher, before it is killed, to end its ranks: some may be on other nodes."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(GRACE_SECONDS)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
