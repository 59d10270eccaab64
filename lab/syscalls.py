"""Counting path system calls with strace, outside the product."""

import re
from dataclasses import dataclass
from pathlib import Path

from .ranks import Outcome, run

PATH = re.compile(r'^(\w+)\((?:[^"]*?)"((?:[^"\\]|\\.)*)"')
# One file for each thread, each line with its time; thread creation tells whose thread it is.
STRACE = ["strace", "-f", "-ff", "-ttt", "-qq", "-s", "4096", "-e", "trace=%file,clone,clone3,fork,vfork"]
NEW_THREAD = re.compile(r"clone3?\(.*CLONE_THREAD.* = (\d+)$")
EXECUTED = re.compile(r"(execve\(|<\.\.\. execve resumed>).* = 0$")
# What a signal has interrupted is called again; what another thread than the first executes has its end elsewhere.
UNDECIDED = re.compile(r".* = \? ERESTART|execve\(.* <(unfinished|pid changed to \d+) \.\.\.>$")
NEW_PROCESS = re.compile(r"v?fork\(|execve\(|clone3?\((?!.*CLONE_THREAD)")
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

    def is_root(self) -> bool:
        """Whether the process set the mark ``root``."""
        return any(call.path == MARK + "root" for call in self.calls)

    def until_mark(self, name: str) -> list[Call]:
        end = next(i for i, call in enumerate(self.calls) if call.path == MARK + name)
        return self.calls[:end]

    def activated_at(self) -> int | None:
        """The position where the rank opens the code of its store for reading: from here on it is served."""
        for position, call in enumerate(self.calls):
            if "/mpiimport-" in call.path and call.path.endswith("/code") and "O_RDONLY" in call.line:
                return position
        return None

    def while_served(self, tree: list[Path], mark: str = "imported") -> list[Call]:
        """The calls on paths in ``tree`` between the activation, which there must be, and a mark."""
        position = self.activated_at()
        assert position is not None
        return on_tree(self.until_mark(mark)[position:], tree)


def trace(
    command: list[str],
    environment: dict[str, str],
    directory: Path,
    seconds: float = 300,
) -> tuple[Outcome, list[Trace]]:
    """Run a command under strace in ``directory``; return its outcome and the traces of processes that set a mark."""
    outcome = run([*tracer(directory), *command], environment, seconds, directory)
    return outcome, rank_traces(directory)


def tracer(directory: Path) -> list[str]:
    """The words in front of a command that is to leave its traces in ``directory``."""
    return [*STRACE, "-o", str(directory / "trace")]


def rank_traces(directory: Path) -> list[Trace]:
    """The traces in ``directory`` of processes that set a mark: the calls of all threads of each, by time."""
    traces = [Trace(_path_calls(lines)) for lines in _processes(directory)]
    return [found for found in traces if found.is_python()]


def new_processes(directory: Path, since: str, until: str) -> list[list[str]]:
    """Of every process in ``directory`` that set the mark ``until``: the lines by which it started a process.

    Lines between the first that names ``since`` and the mark count.
    """
    found = []
    for lines in _processes(directory):
        texts = [text for _, text in lines]
        end = next((i for i, text in enumerate(texts) if MARK + until in text and PATH.match(text)), None)
        if end is not None and NEW_PROCESS.match(texts[end]) is None:
            begin = next(i for i, text in enumerate(texts) if since in text)
            found.append([text for text in texts[begin:end] if NEW_PROCESS.match(text)])
    return found


def calls_of(directory: Path, program: str) -> list[Call]:
    """The path calls of processes in ``directory`` while they are ``program``, from its execve to the next."""
    found = []
    for lines in _processes(directory):
        inside = begun = False
        for _, text in lines:
            if text.startswith("execve("):
                begun = text.startswith(f'execve("{program}"')
            # Where another thread than the first executes, the outcome is a line of its own.
            if EXECUTED.match(text):
                inside = begun
            elif inside and not UNDECIDED.match(text):
                found += _path_calls([(0, text)])
    return found


def _processes(directory: Path) -> list[list[tuple[float, str]]]:
    """The lines of each traced process in ``directory``, of all its threads, by time."""
    lines: dict[str, list[tuple[float, str]]] = {}
    for file in directory.glob("trace.*"):
        pairs = (line.split(" ", 1) for line in file.read_text(errors="replace").splitlines())
        lines[file.suffix[1:]] = [(float(moment), text) for moment, text in pairs]
    creator = {
        match[1]: thread for thread, seen in lines.items() for _, text in seen if (match := NEW_THREAD.match(text))
    }
    processes: dict[str, list[tuple[float, str]]] = {}
    for thread, seen in lines.items():
        process = thread
        while process in creator:
            process = creator[process]
        processes.setdefault(process, []).extend(seen)
    return [sorted(seen) for seen in processes.values()]


def on_tree(calls: list[Call], tree: list[Path]) -> list[Call]:
    """The calls on paths in ``tree``."""
    roots = tuple(str(root).rstrip("/") + "/" for root in tree)
    return [call for call in calls if (call.path + "/").startswith(roots)]


def _path_calls(lines: list[tuple[float, str]]) -> list[Call]:
    matches = ((PATH.match(text), text) for _, text in lines)
    return [Call(match[1], match[2], text) for match, text in matches if match and match[2]]
