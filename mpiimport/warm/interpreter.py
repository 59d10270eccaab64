"""Which interpreter a command starts, with which options, and what runs in it."""

import shutil
import subprocess
from pathlib import Path

from mpiimport.runtime.program import WITH_VALUE

from .memory_map import Refused

SECONDS = 600
# Of options only those that change neither what is executed nor how.
REFUSED_OPTIONS = {"-i": "it is interactive", "-S": "it has no site", "-x": "it passes over a line"}
ANSWER = "answer "
QUESTION = f"""
import os, sys
told = [str(sys.version_info >= (3, 10)), sys.executable, os.path.realpath("/proc/self/exe")]
print("\\n{ANSWER}" + "\\0".join(told))
"""


def split(command: list[str]) -> tuple[list[str], list[str]]:
    """Return the interpreter with its options, and the script or -m and the module, with arguments. Raises Refused."""
    found = shutil.which(command[0]) if command else None
    if found is None:
        raise Refused(f"there is no {command[0] if command else 'command'}")
    python = _interpreter(found)
    options, rest = [], list(command[1:])
    while rest and rest[0].startswith("-") and not rest[0].startswith("-m"):
        word = rest.pop(0)
        if word[:2] == "-c" or word == "-":
            raise Refused("only a script has an image, and a module (-m); -c has none")
        if word in REFUSED_OPTIONS:
            raise Refused(f"{word}: {REFUSED_OPTIONS[word]}")
        options.append(word)
        if word[1] in WITH_VALUE and len(word) == 2 and rest:
            options.append(rest.pop(0))
    if not rest or rest == ["-m"]:
        raise Refused("there is no script")
    return [python, *options], rest


def _interpreter(found: str) -> str:
    """Return the interpreter's path. Raises Refused where what is found is a program in front of it.

    What that does for each process, starts would pass over.
    """
    outcome = subprocess.run([found, "-c", QUESTION], capture_output=True, text=True, timeout=SECONDS)
    # The site may print as well.
    answers = [line.removeprefix(ANSWER) for line in outcome.stdout.splitlines() if line.startswith(ANSWER)]
    if outcome.returncode or len(answers) != 1:
        last = " ".join(outcome.stderr.splitlines()[-1:])
        raise Refused(f"{found} ends with status {outcome.returncode}, and should say where Python is: {last}")
    is_new, python, executable = answers[0].split("\0")
    if is_new != "True":
        raise Refused(f"{found} is no Python 3.10 or newer")
    if executable != str(Path(found).resolve()):
        raise Refused(
            f"{found} is a program in front of {executable}, and starts would pass over what it does; put the "
            "directory of the interpreter itself first on PATH"
        )
    return python
