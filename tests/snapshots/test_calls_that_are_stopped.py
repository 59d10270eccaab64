"""What the recorder's guard lets through: a call that changes something outside of its command is not made."""

import subprocess
import sys
from pathlib import Path

import pytest

from lab.ranks import clean_environment
from mpiimport.snapshot.audit.causes import read
from mpiimport.snapshot.audit.observer import MARK
from tests.conftest import settle

from .baked import SECONDS

ENDED, KILLED = 7, 128 + 9
PREPARE = f"""
import ctypes, _socket, os, posix, sys, threading, time
plain, _ = [posix.open(name, posix.O_RDWR | posix.O_CREAT) for name in ("plain", "there/file")]
one, other = _socket.socketpair()
apart = _socket.socket(_socket.AF_UNIX, _socket.SOCK_DGRAM)
call = ctypes.CDLL(None, use_errno=True).syscall
how = (ctypes.c_uint64 * 3)(posix.O_WRONLY | posix.O_CREAT, 0o600, 0)
wants = (ctypes.c_uint64 * 3)(posix.O_RDONLY, 0, 0)
sys.path.insert(0, posix.getcwd())
posix.access({MARK + "guard/on"!r}, 0)
"""
FINISH = f"""
posix.access({MARK + "guard/off"!r}, 0)
posix.unlink("plain")
posix._exit({ENDED})
"""


class Guarded:
    """Runs statements while the guard is on, in a directory of their own."""

    def __init__(self, recorder: Path, directory: Path) -> None:
        self._recorder = recorder
        self.directory = directory / "work"
        self.log = directory / "log"
        (self.directory / "there").mkdir(parents=True)

    def run(self, statements: str, before: str = "") -> "subprocess.CompletedProcess[bytes]":
        text = before + PREPARE + statements + FINISH
        command = [str(self._recorder), str(self.log), sys.executable, "-S", "-c", text]
        environment = clean_environment()
        return subprocess.run(
            command, cwd=self.directory, env=environment, capture_output=True, timeout=SECONDS, check=False
        )

    def stopped(self) -> list[str]:
        """Return name, result and path of what was stopped."""
        lines = [line.split(" ", 7) for line in self.log.read_text(errors="surrogateescape").splitlines()]
        (at,) = (number for number, line in enumerate(lines) if line[1] == "guarded")
        assert lines[at][0] == lines[at + 1][0]
        return [*lines[at + 1][1:3], lines[at + 1][7]]


@pytest.fixture
def guarded(prefix: Path, tmp_path: Path) -> Guarded:
    return Guarded(prefix / "lib" / "mpiimport" / "snapshot" / "snapshot-recorder", tmp_path)


@pytest.mark.parametrize(
    ("statement", "name", "path"),
    [
        ("open('new', 'w')", "openat", "new"),
        ("posix.open('there/file', posix.O_RDONLY | posix.O_TRUNC)", "openat", "there/file"),
        ("open('there/file', 'r+')", "openat", "there/file"),
        ("call(437, -100, b'new', how, 24)", "openat2", "new"),
        ("call(85, b'new', 0o600)", "other", ""),
        ("posix.mkdir('new')", "mkdir", "new"),
        ("posix.mkdir(posix.getcwd() + '/new')", "mkdir", "new"),
        ("posix.rmdir('there')", "rmdir", "there"),
        ("posix.rename('plain', 'new')", "rename", "plain"),
        ("posix.unlink('plain')", "unlink", "plain"),
        ("posix.link('plain', 'new')", "link", "new"),
        ("posix.symlink('plain', 'new')", "symlink", "new"),
        ("posix.chmod('plain', 0o400)", "chmod", "plain"),
        ("posix.fchmod(plain, 0o400)", "fchmod", ""),
        ("posix.chown('plain', -1, -1)", "chown", "plain"),
        ("posix.truncate('plain', 9)", "truncate", "plain"),
        ("posix.ftruncate(plain, 9)", "ftruncate", ""),
        ("posix.posix_fallocate(plain, 0, 9)", "fallocate", ""),
        ("posix.mkfifo('new')", "mknodat", "new"),
        ("posix.utime('plain')", "utimensat", "plain"),
        ("posix.setxattr('plain', 'user.new', b'')", "setxattr", "plain"),
        ("posix.removexattr('plain', 'user.old')", "removexattr", "plain"),
        ("posix.fork()", "clone", ""),
        ("call(57)", "fork", ""),
        ("call(58)", "vfork", ""),
        ("posix.execv('/bin/true', ['true'])", "execve", ""),
        ("apart.connect('none')", "connect", ""),
        ("apart.bind('new')", "bind", ""),
        ("one.send(b'x')", "sendto", ""),
        ("one.sendmsg([b'x'])", "sendmsg", ""),
        ("posix.write(1, b'x')", "write", ""),
        ("posix.writev(2, [b'x'])", "writev", ""),
        ("posix.kill(posix.getpid(), 0)", "other", ""),
        ("threading.Thread(target=posix.mkdir, args=('new',)).start(); time.sleep(60)", "mkdir", "new"),
    ],
)
def test_a_call_that_changes_something_is_not_made(guarded: Guarded, statement: str, name: str, path: str) -> None:
    ended = guarded.run(statement)
    assert (ended.returncode, ended.stdout, ended.stderr) == (KILLED, b"", b"")
    found, result, where = guarded.stopped()
    assert (found, result, where.endswith(path) and bool(where) == bool(path)) == (name, "-1", True), where
    left = {each.name: each.stat() for each in guarded.directory.rglob("*")}
    assert {*left} == {"plain", "there", "file"}
    assert left["plain"].st_size == 0 and left["plain"].st_mode & 0o200 and left["plain"].st_nlink == 1
    read(guarded.log)


@pytest.mark.parametrize(
    "statement",
    [
        "open('plain').read(); posix.listdir('.'); posix.stat('plain'); posix.readlink('/proc/self/exe')",
        "open('/dev/null', 'w').write('x')",
        "call(437, -100, b'plain', wants, 24)",
        "posix.write(plain, b'x')",
        "os.makedirs(posix.getcwd() + '/there', exist_ok=True)",
        "import beside; assert os.path.exists(beside.__cached__)",
        "thread = threading.Thread(target=posix.stat, args=('plain',)); thread.start(); thread.join()",
        "posix.umask(0o22); posix.chdir('there'); posix.chdir('..')",
    ],
)
def test_what_changes_nothing_goes_on(guarded: Guarded, statement: str) -> None:
    (guarded.directory / "beside.py").write_text("")
    settle(guarded.directory / "beside.py")
    ended = guarded.run(statement)
    assert (ended.returncode, ended.stdout, ended.stderr) == (ENDED, b"", b"")
    assert "guard" not in guarded.log.read_text(errors="surrogateescape")
    assert not (guarded.directory / "plain").exists()


def test_a_child_that_was_there_before_ends_all(guarded: Guarded) -> None:
    child = """
import posix
reads, writes = posix.pipe()
if not posix.fork():
    posix.read(reads, 1)
    posix.mkdir("new")
    posix._exit(0)
"""
    ended = guarded.run("import time; posix.write(writes, b'x'); time.sleep(60)", child)
    assert (ended.returncode, guarded.stopped()) == (KILLED, ["mkdir", "-1", "new"])
    assert not (guarded.directory / "new").exists()
