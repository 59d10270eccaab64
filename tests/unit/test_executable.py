"""What is said of an exec before it is what then becomes of it."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mpiimport.runtime.mpi.executable import LONGEST, can_become


def becomes(path: Any, argv: Any, env: Any) -> bool:
    """Whether a forked process becomes another program by this, whatever that then does."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        null = os.open("/dev/null", os.O_RDWR)
        for stream in range(3):
            os.dup2(null, stream)
        try:
            os.execve(path, argv, env)
        except BaseException:
            os.write(writing, b"failed")
        finally:
            os._exit(1)
    os.close(writing)
    failed = os.read(reading, 6)
    os.close(reading)
    os.waitpid(child, 0)
    return not failed


def file(directory: Path, content: bytes, mode: int = 0o755) -> Path:
    path = directory / "program"
    path.write_bytes(content)
    path.chmod(mode)
    return path


def true() -> bytes:
    return Path(shutil.which("true") or "/bin/true").read_bytes()


def interpreter_of(program: bytes) -> bytes:
    start = program.index(b"/lib64/ld-" if b"/lib64/ld-" in program else b"/lib/ld-")
    return program[start : program.index(b"\0", start)]


FILES: dict[str, tuple[bool, Callable[[], bytes]]] = {
    "a program": (True, true),
    "a script": (True, lambda: b"#!/bin/sh\nexit 0\n"),
    "a script with an argument": (True, lambda: b"#! /bin/sh -e\nexit 0\n"),
    "a script without an end of line": (True, lambda: b"#!/bin/sh"),
    "text": (False, lambda: b"echo no interpreter\n"),
    "nothing": (False, lambda: b""),
    "a script of a missing interpreter": (False, lambda: b"#!/nowhere/sh\n"),
    "a script of a directory": (False, lambda: b"#!/etc\n"),
    "a script of no interpreter": (False, lambda: b"#!\n"),
    "a script of a text": (False, lambda: b"#!/etc/passwd\n"),
    "a part of a program": (False, lambda: true()[:40]),
    "the header of a program": (False, lambda: true()[:64]),
    "a program of another machine": (False, lambda: true()[:18] + b"\xf3\0" + true()[20:]),
    "an object": (False, lambda: true()[:16] + b"\1\0" + true()[18:]),
    "a program of a missing interpreter": (
        False,
        lambda: true().replace(interpreter_of(true()), interpreter_of(true())[:-1] + b"X"),
    ),
}


@pytest.mark.parametrize("kind", FILES)
def test_a_file_is_told_by_its_content(tmp_path: Path, kind: str) -> None:
    expected, content = FILES[kind]
    path = file(tmp_path, content())
    assert (becomes(path, ["x"], {}), can_become(path, ["x"], {})) == (expected, expected)
    descriptor = os.open(path, os.O_RDONLY)
    os.set_inheritable(descriptor, True)
    assert can_become(descriptor, ["x"], {}) == becomes(descriptor, ["x"], {}) == expected
    os.close(descriptor)


@pytest.mark.parametrize(
    "path", ["/nowhere/x", "/etc", "", "/etc/passwd", b"/bin/true", Path("/bin/true"), "no\0", 999, None]
)
def test_a_path_is_told_by_what_is_there(path: Any) -> None:
    assert can_become(path, ["x"], {}) == becomes(path, ["x"], {}) == (path in (b"/bin/true", Path("/bin/true")))


LARGE = {f"v{number}": "x" * (LONGEST - 100) for number in range(100)}
ARGUMENTS: list[tuple[bool, Any, Any]] = [
    (True, ["x"], {}),
    (True, ("x", b"y", Path("z")), {"a": "b", b"c": b"d"}),
    (True, ["x", "y" * (LONGEST - 1)], {}),
    (False, ["x", "y" * LONGEST], {}),
    (False, ["x"], {"a": "b" * LONGEST}),
    (False, ["x"], LARGE),
    (False, ["x"] * 3_000_000, {}),
    (False, [], {}),
    (False, [""], {}),
    (False, "x", {}),
    (False, ["x", 1], {}),
    (False, ["x", "null\0"], {}),
    (False, None, {}),
    (False, ["x"], 5),
    (False, ["x"], {"a": 1}),
    (False, ["x"], {"a": "null\0"}),
    (False, ["x"], {"a=b": "c"}),
    (False, ["x"], {"": "c"}),
]


@pytest.mark.parametrize(("expected", "argv", "env"), ARGUMENTS, ids=range(len(ARGUMENTS)))
def test_arguments_are_told_by_what_the_kernel_takes(expected: bool, argv: Any, env: Any) -> None:
    assert (becomes("/bin/true", argv, env), can_become("/bin/true", argv, env)) == (expected, expected)


def test_a_file_that_this_process_writes_is_told(tmp_path: Path) -> None:
    path = file(tmp_path, true())
    with path.open("rb"):
        assert can_become(path, ["x"], {})
    with path.open("ab"):
        assert can_become(path, ["x"], {}) == becomes(path, ["x"], {})


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
def test_a_file_that_may_not_be_run_is_told(tmp_path: Path) -> None:
    assert not can_become(file(tmp_path, true(), 0o644), ["x"], {})
    place = tmp_path / "noexec"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "noexec", "none", place]).returncode:
        pytest.skip("a tmpfs cannot be mounted here")
    try:
        path = file(place, true())
        assert not becomes(path, ["x"], {})
        assert not can_become(path, ["x"], {})
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)
