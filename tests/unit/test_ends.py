"""What is to happen before an abrupt end happens before one, and not before an exec that fails."""

import os
import sys

import pytest

from mpiimport.runtime.mpi.abrupt_ends import before_abrupt_ends


def in_a_child(end: str) -> str:
    """Run ``end`` in a forked process where abrupt ends are preceded by a line; return what it and its heir print."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(writing, 1)
        before_abrupt_ends(lambda becomes: (os.write(1, b"becomes " if becomes else b"ends "), None)[1])
        exec(end, {"os": os, "sys": sys})
        os.abort()
    os.close(writing)
    with os.fdopen(reading) as stream:
        text = stream.read()
    assert os.waitpid(child, 0)[1] == 0
    return text


@pytest.mark.parametrize(
    ("end", "printed"),
    [
        ("os._exit(0)", "ends "),
        ("os.execv('/bin/echo', ['echo', 'heir'])", "becomes heir\n"),
        ("os.execve('/bin/echo', ['echo', 'heir'], {})", "becomes heir\n"),
        ("os.execve(path='/bin/echo', argv=['echo', 'heir'], env={})", "becomes heir\n"),
        ("os.execve(os.open('/bin/echo', os.O_RDONLY), ['echo', 'heir'], {})", "becomes heir\n"),
        ("os.environ['PATH'] = '/nowhere:/etc:/bin'\nos.execlp('echo', 'echo', 'heir')", "becomes heir\n"),
        ("try: os.execv('/nowhere', ['x'])\nexcept OSError: os.write(1, b'failed ')\nos._exit(0)", "failed ends "),
        ("try: os.execv('/etc/passwd', ['x'])\nexcept OSError: os.write(1, b'failed ')\nos._exit(0)", "failed ends "),
    ],
)
def test_an_abrupt_end_is_preceded(end: str, printed: str) -> None:
    assert in_a_child(end) == printed
