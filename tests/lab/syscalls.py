"""Counting path system calls with strace, outside the product."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .ranks import Outcome, run

PATH = re.compile(r'^(\w+)\((?:[^"]*?)"((?:[^"\\]|\\.)*)"')
# The program under test stats this path, which never exists, to mark where its imports end.
MARK = "/import-mark/"


@dataclass(frozen=True)
class Call:
    name: str
    path: str
    line: str


@dataclass(frozen=True)
class Trace:
    """The path calls of one process in order; calls on descriptors alone are not path calls."""

    calls: list[Call]

    def is_python(self) -> bool:
        return any(call.path.startswith(MARK) for call in self.calls)

    def until_mark(self, name: str) -> list[Call]:
        end = next(i for i, call in enumerate(self.calls) if call.path == MARK + name)
        return self.calls[:end]

    def activated_at(self) -> int | None:
        """The position where the rank opens the code of its store for reading: from here on it is served."""
        for position, call in enumerate(self.calls):
            if "/mpiimport-" in call.path and call.path.endswith("/code") and "O_RDONLY" in call.line:
                return position
        return None


def trace(
    command: list[str],
    environment: dict[str, str],
    directory: Path,
    seconds: float = 300,
    as_identity: Callable[[list[str]], list[str]] = list,
) -> tuple[Outcome, list[Trace]]:
    """Run a command under strace, as ``as_identity`` makes it somebody's, in ``directory``.

    Return its outcome with the trace of each process that set a mark.
    """
    strace = ["strace", "-f", "-ff", "-qq", "-s", "4096", "-e", "trace=%file", "-o", str(directory / "trace")]
    outcome = run(as_identity([*strace, *command]), environment, seconds, directory)
    traces = [Trace(_calls(file)) for file in sorted(directory.glob("trace.*"))]
    return outcome, [found for found in traces if found.is_python()]


def on_tree(calls: list[Call], tree: list[Path]) -> list[Call]:
    """The calls on paths in ``tree``."""
    roots = tuple(str(root).rstrip("/") + "/" for root in tree)
    return [call for call in calls if (call.path + "/").startswith(roots)]


def _calls(file: Path) -> list[Call]:
    calls = []
    for line in file.read_text(errors="replace").splitlines():
        match = PATH.match(line)
        if match and match[2]:
            calls.append(Call(match[1], match[2], line))
    return calls
