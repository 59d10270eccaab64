"""The interpreter's configuration is written only where it looks as expected; nothing that fails there ends a job."""

import sys

import pytest

from mpiimport.runtime import c_functions
from mpiimport.runtime.configuration import WORDS, agree_with_program, agree_with_sys


class Memory:
    """``words``: how many words the command line seems to have, and how many of them the program's."""

    def __init__(self, words: tuple[int, int]) -> None:
        self._words = words
        self.written = 0

    def configuration(self) -> int:
        return 4096

    def read(self, at: int, size: int) -> bytes:
        place = at - 4096 - WORDS[sys.version_info[1]]
        return {0: self._words[0], 16: self._words[1]}.get(place, 0).to_bytes(size, "little")

    def write(self, at: int, data: bytes) -> None:
        self.written += 1

    def allocate(self, size: int, by_c: int) -> int:
        return 8192


@pytest.mark.parametrize(("words", "is_written"), [((3, 1), True), ((1, 3), False), ((0, 0), False), ((3, 0), False)])
def test_what_is_not_as_expected_stays(words: tuple[int, int], is_written: bool) -> None:
    memory = Memory(words)
    agree_with_sys(memory, sys.argv, "/")
    assert (memory.written > 0) is is_written


@pytest.mark.parametrize(("name", "value"), [("abiflags", "d"), ("byteorder", "big"), ("maxsize", 2**31 - 1)])
def test_other_builds_stay_as_they_are(monkeypatch: pytest.MonkeyPatch, name: str, value: object) -> None:
    monkeypatch.setattr(sys, name, value)
    memory = Memory((3, 1))
    agree_with_sys(memory, sys.argv, "/")
    assert memory.written == 0


def test_a_python_without_ctypes(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ImportError("no _ctypes")

    monkeypatch.setattr(c_functions, "ctypes_core", fail)
    agree_with_program(sys.argv, "/")
