"""What is left of an audit whose recorder is killed: a begin takes too long, or memory runs out."""

import subprocess
import sys
from pathlib import Path

from lab.ranks import clean_environment
from mpiimport.snapshot.audit.causes import read
from mpiimport.snapshot.audit.observer import MARK

from .baked import SECONDS

# More lines than the recorder holds back.
TEXT = f"""
import posix, time
posix.access({MARK + "statement/3"!r}, 0)
for _ in range(4 * {{calls}}):
    posix.stat("/")
posix.write(1, b"x")
time.sleep({SECONDS})
"""


def test_a_killed_recorder_has_written_which_statement_was_executed(prefix: Path, tmp_path: Path) -> None:
    recorder, log = prefix / "lib" / "mpiimport" / "snapshot" / "snapshot-recorder", tmp_path / "log"
    for calls in (0, 1000):
        command: list[str | Path] = [recorder, log, sys.executable, "-S", "-c", TEXT.format(calls=calls)]
        with subprocess.Popen(command, env=clean_environment(), stdout=subprocess.PIPE) as process:
            assert process.stdout and process.stdout.read(1) == b"x"
            process.kill()
        assert read(log).statement == 3
