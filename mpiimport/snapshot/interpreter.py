"""Which interpreter a command starts, with which options, and what runs in it."""

import re
import shutil
import subprocess
from pathlib import Path

from mpiimport.runtime.program import WITH_VALUE

from .memory_map import Refused

SECONDS = 600
SEED = "PYTHONHASHSEED"
# Of options only those that change neither what is executed nor how.
REFUSED_OPTIONS = {"-i": "it is interactive", "-S": "it has no site", "-x": "it passes over a line"}
ANSWER = "answer "
QUESTION = f"""
import os, sys
build = getattr(sys, "abiflags", "")
facts = [str(sys.version_info >= (3, 10)), build, sys.executable, os.path.realpath("/proc/self/exe")]
print("\\n{ANSWER}" + "\\0".join(facts))
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


def heeding_seed(words: list[str], environment: dict[str, str]) -> tuple[list[str], dict[str, str]]:
    """Return the interpreter with its options, and variables, with which it goes by PYTHONHASHSEED.

    With -E and -I it ignores all PYTHON* variables, and its sets lie in another order in each run.
    """
    options, ignoring, is_value = [], "", False
    for word in words[1:]:
        letters = "" if is_value else re.split(f"[{WITH_VALUE}]", word, maxsplit=1)[0]
        ignoring += letters
        kept = letters.replace("E", "").replace("I", "s") + word[len(letters) :]
        options += [kept] if kept != "-" else []
        is_value = not is_value and len(word) == len(letters) + 1
    if not {"E", "I"} & {*ignoring}:
        return words, environment
    variables = {name: value for name, value in environment.items() if not name.startswith("PYTHON")}
    safe = {"PYTHONSAFEPATH": "1"} if "I" in ignoring else {}
    return [words[0], *options], {**variables, **safe, SEED: environment[SEED]}


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
    is_new, build, python, executable = answers[0].split("\0")
    if is_new != "True":
        raise Refused(f"{found} is no Python 3.10 or newer")
    if "t" in build:
        # Its objects begin otherwise than freeze.c knows, and its allocator gives memory back in any import.
        raise Refused(f"{found} is a free-threaded build, which can have no snapshot")
    if executable != str(Path(found).resolve()):
        raise Refused(
            f"{found} is a program in front of {executable}, and starts would pass over what it does; put the "
            "directory of the interpreter itself first on PATH"
        )
    return python
