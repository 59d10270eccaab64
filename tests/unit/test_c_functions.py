"""Functions of C libraries are looked up once: some profilers look through all libraries at each dlopen."""

import os
import sys
from pathlib import Path

from mpiimport.runtime.c_functions import LOCK_EX, LOCK_UN, address, flock, open_library


def test_a_lock_opens_no_library(tmp_path: Path) -> None:
    events: list[str] = []
    heeded = [False]
    sys.addaudithook(lambda event, _: events.append(event) if heeded[0] and event.startswith("ctypes.") else None)
    descriptor = os.open(tmp_path / "lock", os.O_CREAT | os.O_RDWR)
    try:
        flock(descriptor, LOCK_EX)
        heeded[0] = True
        flock(descriptor, LOCK_UN)
        flock(descriptor, LOCK_EX)
        heeded[0] = False
    finally:
        os.close(descriptor)
    assert not {"ctypes.dlopen", "ctypes.dlsym"} & {*events}


def test_the_program_stays_open_as_one() -> None:
    assert open_library(None) == open_library(None)
    assert address(open_library(None), "flock")
