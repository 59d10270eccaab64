"""What the demonstration needs of a machine, made by the lab's scripts, with a bar of progress."""

import os
import subprocess
import tempfile
import time
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from lab.provisioning import SCRIPTS, Unavailable

# How often the bar moves.
TICK = 0.25
# A part that takes longer than estimated stays here until it is done.
NEARLY_DONE = 0.97
LONGEST_WORDS = 60


@dataclass(frozen=True)
class Part:
    """``words``: a provisioning script and its arguments; ``seconds``: about how long it takes on two cores if nothing
    of it is there yet."""

    what: str
    words: tuple[str, ...]
    seconds: float


def prepare(console: Console, *parts: Part) -> list[str]:
    """Run the scripts one after another; return the last line of each. Raises Unavailable with a script's reason."""
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[left]}"))
    with Progress(*columns, console=console, transient=True) as progress:
        bars = [progress.add_task(part.what, total=part.seconds, left=_about(part.seconds)) for part in parts]
        return [_run(part, progress, bar) for part, bar in zip(parts, bars, strict=True)]


def _run(part: Part, progress: Progress, bar: TaskID) -> str:
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as said:
        words = [str(SCRIPTS / part.words[0]), *part.words[1:]]
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=said)
        while process.poll() is None:
            time.sleep(TICK)
            gone = time.monotonic() - began
            left = f"{_about(part.seconds - gone)}  {_last_line(said.fileno())[:LONGEST_WORDS]}"
            progress.update(bar, completed=min(gone, NEARLY_DONE * part.seconds), left=left)
        if process.returncode != 0:
            raise Unavailable(_last_line(said.fileno()) or f"{part.words[0]} gave no reason")
        taken = time.monotonic() - began
        progress.update(bar, completed=part.seconds, left="ready")
        if taken > 1:
            progress.console.print(f"  {part.what}: {taken:.0f} s")
        return _last_line(output.fileno())


def _about(seconds: float) -> str:
    return f"about {max(round(seconds, -1), 10):.0f} s left"


def _last_line(descriptor: int) -> str:
    lines = os.pread(descriptor, 1 << 20, 0).decode(errors="replace").splitlines()
    return lines[-1] if lines else ""
