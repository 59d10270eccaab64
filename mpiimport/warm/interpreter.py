"""Which interpreter a command starts, with which options, and what runs in it."""

import json
import os
import resource
import shutil
import subprocess
from pathlib import Path
from typing import Any

from mpiimport.runtime.program import WITH_VALUE

from .memory_map import Refused

SECONDS = 600
# Of options only those that change neither what is executed nor how.
REFUSED_OPTIONS = {"-i": "it is interactive", "-S": "it has no site", "-x": "it passes over a line"}
# What each shell sets for what it starts.
OF_SHELLS = {"_", "SHLVL", "PWD", "OLDPWD"}
# What it may need to find Python, and a directory that is not there, behind those of PATH.
KEPT, NOWHERE = ("HOME", "LD_LIBRARY_PATH"), "/dev/null/bin"
LARGE = 1 << 40
QUESTION = """
import sys
if sys.version_info < (3, 10):
    print("null")
    sys.exit()
import json, os, resource
limits = {name: resource.getrlimit(getattr(resource, name)) for name in dir(resource) if name.startswith("RLIMIT_")}
process = {"options": sys.orig_argv[1:-1], "the current directory": os.getcwd(), "the umask": os.umask(0)}
process |= {"processors": sorted(os.sched_getaffinity(0)), "the priority": os.getpriority(0, 0), "limits": limits}
print(json.dumps([dict(os.environ), process, os.path.realpath("/proc/self/exe"), sys.executable]))
"""


def split(command: list[str]) -> tuple[list[str], list[str]]:
    """Return the interpreter with its options, and the script or -m and the module, with arguments. Raises Refused."""
    found = shutil.which(command[0]) if command else None
    if found is None:
        raise Refused(f"there is no {command[0] if command else 'command'}")
    python = _behind(found)
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


def _behind(found: str) -> str:
    """Return the interpreter's path. What stands on PATH may be a script that leads to it: then that does nothing else,
    for starts pass it over. Raises Refused."""
    _, _, executable, python = _ask(found)
    if executable != str(Path(found).resolve()):
        # Whoever makes an image may have been started by it, and what it does is done once already.
        (variables, process, *_), (others, own, *_) = (_ask(name, elsewhere=True) for name in (found, python))
        changed = {name for name in {*variables, *others} if variables.get(name) != others.get(name)} - OF_SHELLS
        changed |= {name for name, value in own.items() if process[name] != value}
        if changed:
            raise Refused(
                f"{found} leads to Python and changes {', '.join(sorted(changed))}, which a start from an image would "
                f"not; put the directory of {python} first on PATH"
            )
    return python


def _ask(python: str, elsewhere: bool = False) -> tuple[dict[str, str], dict[str, object], str, str]:
    """Return of a process that this name starts: variables, what belongs to it, its executable, and Python's path.

    ``elsewhere``: with other variables, limits and the like than this process.
    """
    options: dict[str, Any] = {}
    if elsewhere:
        path = os.environ.get("PATH", os.defpath) + os.pathsep + NOWHERE
        variables = {name: os.environ.get(name, "/") for name in KEPT}
        options = {"env": {**variables, "PATH": path}, "cwd": "/proc", "preexec_fn": _be_another}
    outcome = subprocess.run([python, "-c", QUESTION], capture_output=True, text=True, timeout=SECONDS, **options)
    if outcome.returncode:
        last = " ".join(outcome.stderr.splitlines()[-1:])
        raise Refused(f"{python} ends with status {outcome.returncode}: {last}")
    # The site may have printed something before.
    told = json.loads(outcome.stdout.splitlines()[-1])
    if told is None:
        raise Refused(f"{python} is no Python 3.10 or newer")
    variables, process, executable, path = told
    return variables, process, executable, path


def _be_another() -> None:
    """Change what a program in front of Python may set."""
    os.umask(0o031)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    for limit in (getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")):
        soft, hard = resource.getrlimit(limit)
        resource.setrlimit(limit, (LARGE if soft == resource.RLIM_INFINITY else max(soft - 1, 0), hard))
