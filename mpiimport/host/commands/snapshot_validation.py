"""`mpiimport run` validates, once for all nodes of a job, the files on which snapshots depend."""

import subprocess
from contextlib import suppress
from pathlib import Path

from mpiimport.runtime import PREFIX
from mpiimport.runtime.store.store import PROGRAM
from mpiimport.snapshot.image.library import directory, entries
from mpiimport.snapshot.memory_map import Refused

# Answers of the starter, with a slash between them: see restorer/launch_validation.c, which reads them on each node.
VALIDATED = "_MPIIMPORT_VALIDATED"
STARTER = Path(PREFIX) / "bin" / "mpiimport-restore"


def validate_snapshots(words: list[str]) -> str:
    """Return the variable's value for ranks that run these words; empty where there is no snapshot of them.

    ``words``: see ``words_of_ranks``. The starter decides on each node whether an answer is for it.
    """
    if words[:1] == ["-u"]:
        # It is in the key of a snapshot, and not among the words that its start is given.
        words = words[1:]
    names = {Path(word).name for word in words}
    answers: list[str] = []
    with suppress(OSError, Refused):
        for entry in entries(directory()) if words else []:
            if Path(entry.text(PROGRAM).partition(" ")[2]).name in names:
                answers += [_answer(image, words) for image in entry.images_and_bases]
    return "/".join(filter(None, answers))


def _answer(image: Path, words: list[str]) -> str:
    """Return the answer of the starter for an image or its base; empty where that can be of no use."""
    option = ["--base"] if image.suffix else []
    line = [str(STARTER), "--validate", *option, str(image.with_suffix("")), *words]
    return subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
