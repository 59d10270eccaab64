"""What a server needs, on the loopback of a network of its own, ended by process ids."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from .processes import in_namespace
from .ranks import clean_environment

SECONDS = 60
# PostgreSQL does not run as root.
DATABASE_USER = "postgres"
# The machine's name must be one that the network knows.
NETWORK = "ip link set lo up && hostname localhost && touch up && exec sleep infinity"


class Daemons:
    """Started in a directory while the context lasts, each by the words ``before`` and its command.

    At the end they are ended in reverse order, and then all else that runs in their network. ``inside``: words before a
    command that runs there. ``databases``: the directory of PostgreSQL's programs, as databases.sh prints it.
    """

    def __init__(self, directory: Path, databases: Path, before: Sequence[str] = ()) -> None:
        self.directory = directory
        self.inside: list[str] = []
        self._databases = databases
        self._before = list(before)
        self._network: Path | None = None
        self._running: list[tuple[subprocess.Popen[bytes], int]] = []

    def __enter__(self) -> Self:
        try:
            first = self.start("network", ["unshare", "--net", "--uts", "sh", "-c", NETWORK], {})
            self.wait(lambda: (self.directory / "up").exists(), "network")
            self._network = Path(f"/proc/{first}/ns/net").readlink()
            self.inside = ["nsenter", "--target", str(first), "--net", "--uts", "--"]
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(
        self, name: str, command: list[str], environment: dict[str, str], ending: int = signal.SIGTERM, where: str = ""
    ) -> int:
        """Start a command, which ``ending`` ends with all that it has started; return its process id."""
        with (self.directory / f"{name}.out").open("wb") as output:
            process = subprocess.Popen(
                [*self._before, *self.inside, *command],
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
        """Wait for what a command makes true. Raises TimeoutError with what the command said last."""
        end = time.monotonic() + SECONDS
        while not condition():
            if time.monotonic() > end:
                said = (self.directory / f"{name}.out").read_text(errors="replace")
                raise TimeoutError(f"{name} does not come up: {said[-3000:]}")
            time.sleep(0.1)

    def stop(self) -> None:
        for process, ending in reversed(self._running):
            process.send_signal(ending)
            with suppress(subprocess.TimeoutExpired):
                process.wait(SECONDS)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self._running.clear()
        self._kill_others()

    def _kill_others(self) -> None:
        """What a daemon has started for its jobs may have gone into sessions of its own."""
        # Never those of the machine's own network.
        if self._network is None or self._network == Path("/proc/self/ns/net").readlink():
            return
        end = time.monotonic() + SECONDS
        while (others := list(in_namespace("net", self._network))) and time.monotonic() < end:
            for process in others:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            time.sleep(0.05)

    def postgresql(self, database: str) -> Path:
        """Start a server with an empty database; return the directory of its socket."""
        home = self.directory / "postgresql"
        home.mkdir()
        shutil.chown(home, DATABASE_USER, DATABASE_USER)
        as_user = ["setpriv", f"--reuid={DATABASE_USER}", f"--regid={DATABASE_USER}", "--clear-groups"]
        run = {"check": True, "stdout": subprocess.DEVNULL, "cwd": home}
        programs = self._databases
        create = [programs / "initdb", "--auth=trust", "--username=root", "--no-sync", f"--pgdata={home / 'data'}"]
        subprocess.run([*as_user, *create], **run)  # type: ignore[call-overload]
        server = [str(programs / "postgres"), "-D", str(home / "data"), "-k", str(home), "-h", "localhost"]
        # Open connections do not hold it up.
        self.start("postgres", [*as_user, *server], {}, signal.SIGINT)
        # Its socket is there before it takes connections.
        asked = [str(programs / "pg_isready"), "--quiet", "-h", str(home)]
        self.wait(lambda: subprocess.run(asked).returncode == 0, "postgres")
        subprocess.run([programs / "createdb", "-h", home, "-U", "root", database], check=True)
        return home

    def redis(self) -> Path:
        """Start a server that keeps nothing; return its socket."""
        socket = self.directory / "redis.socket"
        self.start("redis", ["redis-server", "--port", "0", "--unixsocket", str(socket), "--save", ""], {})
        self.wait(socket.exists, "redis")
        return socket
