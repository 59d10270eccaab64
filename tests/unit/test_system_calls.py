"""What strace writes is counted as the calls that the program made."""

import sys
from pathlib import Path

from lab.ranks import clean_environment, run
from lab.syscalls import calls_of, tracer

BY_A_THREAD = """
import os, threading
thread = threading.Thread(target=os.execv, args=("/usr/bin/env", ["env"]))
thread.start()
thread.join()
"""


def test_what_another_thread_than_the_first_becomes_is_none_of_its_own_calls(tmp_path: Path) -> None:
    python = str(Path(sys.executable).resolve())
    outcome = run([*tracer(tmp_path), python, "-c", BY_A_THREAD], clean_environment(), 60, tmp_path)
    assert outcome.status == 0, outcome.stderr
    assert any(call.path.endswith(".so.6") for call in calls_of(tmp_path, "/usr/bin/env"))
    own = [call.path for call in calls_of(tmp_path, python)]
    assert own and "/usr/bin/env" not in own
