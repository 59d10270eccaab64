"""Interpreters that import the same modules, each told something else, to see what these do."""

import ctypes
import marshal
import os
import signal
import subprocess
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

from .memory_map import Refused

HERE = Path(__file__).resolve().parent
PACKAGES = HERE.parent.parent
FREEZE = str(HERE / "freeze.so")
SECONDS = 300
# How a process finds the launcher by which it would start MPI: of MPICH, Slurm and Intel MPI, and of PMIx.
CONNECTIONS = ("PMI_FD", "PMI_PORT", "PMIX_NAMESPACE", "PMIX_SERVER_")
# personality(2)
ADDR_NO_RANDOMIZE = 0x0040000


class Trial:
    """One of them, which has been begun. ``output``: the file that it writes what was seen to."""

    def __init__(self, command: list[str], output: Path, **options: Any) -> None:
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, **options)
        self._output = output

    def seen(self) -> dict[str, Any]:
        """Wait for its end, and return what auditing.py has written. Raises Refused."""
        try:
            printed, said = self._process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            raise Refused(f"the audit takes longer than {SECONDS} s") from None
        if self._process.returncode == -signal.SIGINT:
            raise KeyboardInterrupt
        if self._process.returncode:
            last = said.decode(errors="replace").strip().splitlines()[-1:]
            raise Refused(f"the imports of the audit ended with status {self._process.returncode}: {' '.join(last)}")
        found: dict[str, Any] = marshal.loads(self._output.read_bytes())
        # It may lie where the image has to find room.
        self._output.unlink()
        found["output"] = (printed or b"") + said
        return found

    def end(self) -> None:
        """Let nothing of it go on."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate()


class Trials:
    """Those of one program. ``words``: the interpreter and its options; ``directory``: for what is written, the
    recorder's ``log`` as well; ``script``: what ScriptBegin takes, where that is run, or nothing."""

    def __init__(
        self, words: list[str], directory: Path, environment: dict[str, str], script: tuple[Any, ...] = ()
    ) -> None:
        self.log = directory / "log"
        self._words = words
        self._directory = directory
        self._environment = environment
        self._script = script
        self._begun = 0

    def causes(self, modules: list[str], behind: Collection[str] = ()) -> dict[str, Any]:
        """Import them below the recorder, and return what was seen beside its log. Raises Refused.

        ``behind``: those of which it is asked whether they mention MPI.
        """
        environment = dict(self._environment)
        environment["LD_PRELOAD"] = f"{HERE / 'variables.so'} {environment.get('LD_PRELOAD', '')}".strip()
        # Who starts MPI does so by itself.
        environment = {name: value for name, value in environment.items() if not name.startswith(CONNECTIONS)}
        recorder = [str(HERE / "warm-recorder"), str(self.log)]
        # What the site does is seen as well, for auditing.py has it done.
        told = {"behind": [*behind]}
        trial = self._begin(modules, "causes", recorder, ["-S"], told, env=environment, preexec_fn=begin_child)
        try:
            return trial.seen()
        finally:
            trial.end()

    def begin(self, modules: list[str], **changes: Any) -> Trial:
        """Begin one of which the state is compared: see ``twins.compare``."""
        options: dict[str, Any] = {"cwd": changes.get("cwd"), "preexec_fn": changes.get("before", begin_child)}
        options |= {"env": {**self._environment, **changes.get("environment", {})}}
        told: dict[str, Any] = {name: changes[name] for name in ("host", "order", "places") if name in changes}
        if not changes.get("streams"):
            return self._begin(modules, "state", [], [], told, **options)
        with tempfile.TemporaryFile(dir=self._directory) as file:
            options |= {"stdin": subprocess.PIPE, "stdout": file}
            return self._begin(modules, "state", [], [], told, **options)

    def _begin(
        self,
        modules: list[str],
        way: str,
        before: list[str],
        flags: list[str],
        told: dict[str, Any],
        **options: Any,
    ) -> Trial:
        self._begun += 1
        plan, output = (self._directory / f"{name}{self._begun}" for name in ("audit", "seen"))
        content: dict[str, Any] = {
            "package": str(PACKAGES),
            "modules": modules,
            "output": str(output),
            "way": way,
            "freeze": FREEZE,
        }
        content |= {"host": "", "order": [], "places": 0, "behind": [], "script": self._script, **told}
        plan.write_bytes(marshal.dumps(content))
        command = [*before, *self._words, *flags, str(HERE / "auditing.py"), str(plan)]
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE}
        return Trial(command, output, **{**streams, **options})


def begin_child(fixed: bool = False, processor: "int | None" = None, ignored: Collection[signal.Signals] = ()) -> None:
    """Let a child begin as a shell starts one, whoever makes the image: nothing is blocked, or ignored but ``ignored``.

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
