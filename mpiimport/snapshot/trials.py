"""Interpreters that execute the same begin of a program, each under other conditions, to see what it does."""

import ctypes
import marshal
import os
import signal
import subprocess
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

from .interpreter import heeding_seed
from .memory_map import Refused

HERE = Path(__file__).resolve().parent
PACKAGES = HERE.parent.parent
FREEZE = str(HERE / "freeze.so")
SECONDS = 300
# How a process finds the launcher by which it would start MPI: of MPICH, Slurm and Intel MPI, and of PMIx.
CONNECTIONS = ("PMI_FD", "PMI_PORT", "PMIX_NAMESPACE", "PMIX_SERVER_")
# How the recorder's command ends: before a call that is not let through, and where a statement takes too long.
GUARDED, TOO_LONG = 128 + signal.SIGKILL, 128 + signal.SIGALRM
WAYS = {GUARDED: "", TOO_LONG: "it takes too long"}
# personality(2)
ADDR_NO_RANDOMIZE = 0x0040000


class Ended(Refused):
    """An interpreter did not come to the end of the begin; the text says how it ended."""


class Trial:
    """One of them, which has been begun. ``output``: the file that it writes what was seen to."""

    def __init__(self, command: list[str], output: Path, **options: Any) -> None:
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, **options)
        self._output = output

    def seen(self) -> dict[str, Any]:
        """Wait for its end, and return what it has written. Raises Ended."""
        try:
            _, said = self._process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            self.end()
            raise Ended(f"it takes longer than {SECONDS} s") from None
        status = self._process.returncode
        if status == -signal.SIGINT:
            raise KeyboardInterrupt
        if status in WAYS:
            raise Ended(WAYS[status])
        if status or not self._output.exists():
            last = said.decode(errors="replace").strip().splitlines()[-1:]
            how = f"is ended by a signal, {signal.strsignal(-status)}" if status < 0 else f"ends with status {status}"
            raise Ended(": ".join([f"it {how}", *last]))
        found: dict[str, Any] = marshal.loads(self._output.read_bytes())
        # It may lie where the image has to find room.
        self._output.unlink()
        return found

    def end(self) -> None:
        """Let nothing of it go on."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate()


class Trials:
    """Those of one program. ``words``: the interpreter and its options; ``directory``: for what is written, the
    recorder's ``log`` as well; ``own``: directories of own code."""

    def __init__(
        self, words: list[str], directory: Path, environment: dict[str, str], own: Collection[str] = ()
    ) -> None:
        self._own = sorted(own)
        self.log = directory / "log"
        self._words = words
        self._directory = directory
        self._environment = environment
        self._begun = 0

    def causes(
        self, begin: tuple[Any, ...], seconds: int = 0, behind: "int | None" = None, watches_path: bool = False
    ) -> dict[str, Any]:
        """Execute a begin below the recorder; return what was seen beside its log: see observing.py. Raises Ended."""
        environment = dict(self._environment)
        environment["LD_PRELOAD"] = f"{HERE / 'variables.so'} {environment.get('LD_PRELOAD', '')}".strip()
        # Who starts MPI does so by itself.
        environment = {name: value for name, value in environment.items() if not name.startswith(CONNECTIONS)}
        recorder = [str(HERE / "snapshot-recorder"), str(self.log)]
        told = {"begin": begin, "seconds": seconds, "behind": behind, "watches_path": watches_path, "freeze": FREEZE}
        told["own"] = self._own
        # What the site does is seen as well: observing.py has it done.
        trial = self._begin("audit/observing.py", recorder, ["-S"], told, env=environment, preexec_fn=begin_child)
        try:
            return trial.seen()
        finally:
            trial.end()

    def begin(self, begin: tuple[Any, ...], **changes: Any) -> Trial:
        """Begin a variation run: see ``comparison.compare``."""
        options: dict[str, Any] = {"cwd": changes.get("cwd"), "preexec_fn": changes.get("before", begin_child)}
        words, environment = heeding_seed(self._words, self._environment)
        options |= {"words": words, "env": {**environment, **changes.get("environment", {})}}
        told = {"begin": begin, "host": "", "behind": None, "displaced": 0}
        told |= {name: changes[name] for name in told if name in changes}
        if not changes.get("streams"):
            return self._begin("audit/varying.py", [], [], told, **options)
        with tempfile.TemporaryFile(dir=self._directory) as file:
            options |= {"stdin": subprocess.PIPE, "stdout": file}
            return self._begin("audit/varying.py", [], [], told, **options)

    def _begin(
        self,
        name: str,
        before: list[str],
        flags: list[str],
        told: dict[str, Any],
        words: list[str] | None = None,
        **options: Any,
    ) -> Trial:
        self._begun += 1
        plan, output = (self._directory / f"{each}{self._begun}" for each in ("plan", "seen"))
        plan.write_bytes(marshal.dumps({"output": str(output), **told}))
        command = [*before, *(words or self._words), *flags, str(HERE / name), str(plan)]
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE}
        return Trial(command, output, **{**streams, **options})


def begin_child(fixed: bool = False, processor: "int | None" = None, ignored: Collection[signal.Signals] = ()) -> None:
    """Let a child begin as a shell starts one: no signal is blocked, and none ignored but ``ignored``.

    ``fixed``: without random addresses; ``processor``: which it is bound to, as launchers do.
    """
    for number in signal.valid_signals():
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    if fixed:
        ctypes.CDLL(None).personality(ADDR_NO_RANDOMIZE)
    if processor is not None:
        os.sched_setaffinity(0, {processor})
