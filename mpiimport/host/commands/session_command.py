"""The command that has filled a store, kept beside it: it is started again to fill another, or to validate that one.

command   in a store: words, variables and directory, as JSON
"""

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from mpiimport.runtime.options import VALIDATE
from mpiimport.runtime.regular_file import read_regular
from mpiimport.runtime.startup.left_behind import began_at
from mpiimport.runtime.store.origin import found_since

from ..complaint import Complaint

COMMAND = "command"
FILL = "MPIIMPORT_FILL"
# Seconds in which a command ends that validates: srun may wait for a node that is busy.
PATIENCE = 60


@dataclass(frozen=True)
class Command:
    """What has filled stores, with which variables and where."""

    words: list[str]
    environment: dict[str, str]
    directory: str

    @classmethod
    def read(cls, text: str) -> "Command":
        """Read what ``command_of`` returns."""
        return cls(**json.loads(text))

    def keep_beside(self, store: Path) -> None:
        """Note it in a store, unless that has been removed meanwhile."""
        with suppress(OSError):
            (store / COMMAND).write_text(json.dumps(asdict(self)))

    def fill(self) -> int:
        """Start it, so that its program has its store filled, and return the status. Raises Complaint."""
        try:
            asked = {**self.environment, FILL: str(began_at(os.getpid()))}
            status = subprocess.run(self.words, env=asked, cwd=self.directory, check=False).returncode
        except OSError as exc:
            raise Complaint(f"{self.words[0]} cannot be started: {exc.strerror}") from None
        if status:
            print(f"mpiimport: {self.words[0]} ended with status {status}", file=sys.stderr)
        return status

    def validate(self, stores: list[Path]) -> dict[Path, str | None]:
        """Start it, so that its processes validate these stores, and run nothing else.

        Return what they have found, nothing for a valid store; None for one that they have not validated.
        """
        asked = time.monotonic_ns()
        environment = {**self.environment, FILL: VALIDATE}
        nothing = subprocess.DEVNULL
        # What they have found by then counts.
        with suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(
                self.words,
                env=environment,
                cwd=self.directory,
                stdin=nothing,
                stdout=nothing,
                stderr=nothing,
                timeout=PATIENCE,
                check=False,
            )
        return {store: found_since(str(store), asked) for store in stores}


def command_of(store: Path) -> str:
    """Return the command that has filled a store, as text; empty where tasks have, or a command on another node."""
    try:
        return read_regular(str(store / COMMAND)).decode()
    except OSError:
        return ""
