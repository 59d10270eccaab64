"""What a manager's server needs, on the loopback of a network of its own, ended by process ids."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from lab.processes import running
from lab.ranks import Outcome, clean_environment, run
from tests.conftest import provision
from tests.containers.workflows import manager

SECONDS = 60
# PostgreSQL does not run as root.
DATABASE_USER = "postgres"
# The machine's name must be one that the network knows.
NETWORK = "ip link set lo up && hostname localhost && touch up && exec sleep infinity"


class Daemons:
    """Started in a directory, ended by ``stop`` in reverse order. ``inside``: words before one that runs there."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.inside: list[str] = []
        self._running: list[tuple[subprocess.Popen[bytes], int]] = []
        network = self.start("network", ["unshare", "--net", "--uts", "sh", "-c", NETWORK], {})
        self.wait(lambda: (directory / "up").exists(), "network")
        self.inside = ["nsenter", "--target", str(network), "--net", "--uts", "--"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(
        self, name: str, command: list[str], environment: dict[str, str], ending: int = signal.SIGTERM, where: str = ""
    ) -> int:
        """Start a command, which ``ending`` ends with all that it has started; return its process id."""
        with (self.directory / f"{name}.out").open("wb") as output:
            process = subprocess.Popen(
                [*self.inside, *command],
                env=environment or clean_environment(),
                cwd=where or self.directory,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self._running.append((process, ending))
        return process.pid

    def wait(self, condition: Callable[[], bool], name: str) -> None:
        end = time.monotonic() + SECONDS
        while not condition():
            assert time.monotonic() < end, (self.directory / f"{name}.out").read_text(errors="replace")[-3000:]
            time.sleep(0.1)

    def stop(self) -> None:
        for process, ending in reversed(self._running):
            process.send_signal(ending)
            with suppress(subprocess.TimeoutExpired):
                process.wait(SECONDS)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def postgresql(self, database: str) -> Path:
        """Start a server with an empty database; return the directory of its socket."""
        programs = provision("databases.sh")
        home = self.directory / "postgresql"
        home.mkdir()
        shutil.chown(home, DATABASE_USER, DATABASE_USER)
        as_user = ["setpriv", f"--reuid={DATABASE_USER}", f"--regid={DATABASE_USER}", "--clear-groups"]
        run = {"check": True, "stdout": subprocess.DEVNULL, "cwd": home}
        create = [programs / "initdb", "--auth=trust", "--username=root", "--no-sync", f"--pgdata={home / 'data'}"]
        subprocess.run([*as_user, *create], **run)  # type: ignore[call-overload]
        server = [str(programs / "postgres"), "-D", str(home / "data"), "-k", str(home), "-h", "localhost"]
        # Open connections do not hold it up.
        self.start("postgres", [*as_user, *server], {}, signal.SIGINT)
        socket = home / ".s.PGSQL.5432"
        self.wait(socket.exists, "postgres")
        subprocess.run([programs / "createdb", "-h", home, "-U", "root", database], check=True)
        return home

    def redis(self) -> Path:
        """Start a server that keeps nothing; return its socket."""
        socket = self.directory / "redis.socket"
        self.start("redis", ["redis-server", "--port", "0", "--unixsocket", str(socket), "--save", ""], {})
        self.wait(socket.exists, "redis")
        return socket


@dataclass(frozen=True)
class Apart(manager.Manager):
    """A manager that runs in the network of its daemons; its tasks run below a directory of their own."""

    daemons: Daemons

    @classmethod
    def apart(cls, plain: manager.Manager, daemons: Daemons) -> Self:
        return cls(plain.site, plain.mpi, plain.python, plain.directory, daemons)

    @property
    def tasks(self) -> Path:
        raise NotImplementedError

    def run(self, *words: str | Path, **changes: str) -> Outcome:
        command = [*self.daemons.inside, *map(str, words)]
        return run(command, self.environment(**changes), manager.SECONDS, self.directory)

    def processes(self) -> list[str]:
        """What still runs of tasks."""
        return [line.replace("\0", " ") for _, line in running(lambda place: place.is_relative_to(self.tasks))]
