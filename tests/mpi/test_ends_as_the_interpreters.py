"""However a program ends, what it prints, its status and the signal are those of the interpreter alone."""

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from lab.ranks import Mpi
from tests.conftest import RUNNING, SERVED, Job, interpreter

SERVED_BY_COMMAND = ["early", "module"]
ENDS = {
    "no output": "sys.stdout.close()\nraise ValueError('last')",
    "output is None": "sys.stdout = None\nraise ValueError('last')",
    "output that raises": "class Out:\n    def write(self, text): pass\n    def flush(self): 1 / 0\n"
    "    def __repr__(self): return 'Out'\n"
    "sys.stdout = Out()\nraise ValueError('last')",
    "a hook that raises": "def hook(*words):\n    raise KeyError('of the hook')\nsys.excepthook = hook\nraise ValueError('last')",
    "a hook that asks what is handled": "sys.excepthook = lambda *words: print(sys.exc_info()[0], words[2].tb_lineno, "
    "words[2] is words[1].__traceback__ is sys.last_traceback, __file__)\nraise ValueError('last')",
    "a hook that ends": "sys.excepthook = lambda *words: sys.exit(9)\nraise ValueError('last')",
    "a hook that is None": "sys.excepthook = None\nraise ValueError('last')",
    "a hook that is deleted": "del sys.excepthook\nraise ValueError('last')",
    "a hook that is its own": "print(sys.excepthook is sys.__excepthook__)",
    "main is deleted": "del sys.modules['__main__']",
    "main is deleted, then fails": "del sys.modules['__main__']\nraise ValueError('last')",
    "all modules are deleted": "sys.modules.clear()",
    "main is another": "sys.modules['__main__'] = None",
    "a handler sees the file": "import atexit\natexit.register(lambda: print('__file__' in globals()))\nraise ValueError('last')",
    "a chain": "try:\n    1 / 0\nexcept ZeroDivisionError as exc:\n    raise ValueError('last') from exc",
    "a syntax error": "import ast\nast.parse('1 +')",
    "an interrupt": "raise KeyboardInterrupt",
    "a signal of an interrupt": "import os, signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\nos.kill(os.getpid(), signal.SIGINT)",
    "an interrupt and a hook": "sys.excepthook = lambda *words: print('interrupted')\nraise KeyboardInterrupt",
    "a status": "sys.exit(5)",
    "an exit in a function": "def leave(): raise SystemExit('gone')\nleave()",
    "in a child": "import os\nif os.fork() == 0:\n    sys.stdout.close()\n    raise ValueError('last')\n"
    "print(os.waitstatus_to_exitcode(os.wait()[1]))",
}
BROKEN = "1 +"
WAITING = """\
import atexit, os, sys, threading
def wait():
    threading.main_thread().join()
    print("printed by a thread", file=sys.stdout if not sys.stdout.closed else sys.stderr)
    os.write(1, b"of a thread\\n")
threading.Thread(target=wait).start()
atexit.register(os.write, 1, b"of a handler\\n")
print("of the program", sys.stdout is sys.__stdout__)
"""


def run(
    job: Job, entry_point: str, flags: tuple[str, ...], *words: str | Path, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a program that is no rank. ``flags``: of the interpreter; ``options``: of ``subprocess.run``."""
    python, *ours = job.python(entry_point)
    # The same package for all entry points, which shows in no program's path.
    variables = {"PATH": os.environ["PATH"], "PYTHONPATH": str(job.prefix / "lib"), "TERM": "dumb"}
    command = [python, *flags, *ours, *map(str, words)]
    options |= {"stdout": subprocess.PIPE, "text": True, "timeout": 60}
    return subprocess.run(command, env=variables, cwd=job.directory, check=False, **options)


def ended(job: Job, entry_point: str, *words: str | Path, flags: tuple[str, ...] = ()) -> tuple[int, str, str]:
    """How a program ends that is no rank: its status, negative for a signal, and what it prints."""
    asked = "print('asked', 1 + 1, '__file__' in globals())\n"
    done = run(job, entry_point, flags, *words, input=asked, stderr=subprocess.PIPE)
    return done.returncode, done.stdout, done.stderr


def in_order(job: Job, entry_point: str, text: str, *words: str | Path) -> str:
    """What a program writes to both streams, which are one pipe."""
    return run(job, entry_point, (), *words, input=text, stderr=subprocess.STDOUT).stdout


@pytest.fixture(
    params=[pytest.param(each, marks=() if each in (RUNNING, "3.10") else pytest.mark.full) for each in SERVED]
)
def any_job(request: pytest.FixtureRequest, prefix: Path, tmp_path: Path) -> Job:
    return Job(prefix, tmp_path, interpreter(request.param))


@pytest.mark.parametrize("flags", [(), ("-i",)], ids=["", "interactive"])
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("entry_point", SERVED_BY_COMMAND)
def test_ends_are_the_interpreters_own(any_job: Job, entry_point: str, end: str, flags: tuple[str, ...]) -> None:
    script = any_job.script("import sys\n" + ENDS[end])
    assert ended(any_job, entry_point, script, flags=flags) == ended(any_job, "plain", script, flags=flags)


@pytest.mark.parametrize("kind", ["script", "module", "code", "broken", "missing"])
@pytest.mark.parametrize("entry_point", SERVED_BY_COMMAND)
def test_tracebacks_are_the_interpreters_own(any_job: Job, entry_point: str, kind: str) -> None:
    any_job.script("def fail():\n    raise ValueError('last')", "helper.py")
    script = any_job.script("import helper\nhelper.fail()")
    broken = any_job.script(BROKEN, "broken.py")
    starts: dict[str, list[str | Path]] = {
        "script": [script],
        "module": ["-m", "app"],
        "code": ["-c", "import helper\nhelper.fail()"],
        "broken": [broken],
        "missing": ["missing.py"],
    }
    assert ended(any_job, entry_point, *starts[kind]) == ended(any_job, "plain", *starts[kind])


@pytest.mark.parametrize("end", ["", "raise ValueError('last')", "sys.exit('status')", "sys.stdout.close()"])
@pytest.mark.parametrize("entry_point", SERVED_BY_COMMAND)
def test_what_waits_in_a_buffer_is_written_when_it_is_plainly(any_job: Job, entry_point: str, end: str) -> None:
    """Behind the last line of a script; behind tracebacks, threads and exit handlers of all other programs."""
    script = any_job.script(WAITING + end)
    container = any_job.script(WAITING + end, "container/__main__.py").parent
    archive = Path(shutil.make_archive(str(any_job.directory / "packed"), "zip", container))
    for words in ([script], ["-m", "app"], ["-c", WAITING + end], [container], [archive], ["-"]):
        plain, served = (in_order(any_job, each, WAITING + end, *words) for each in ("plain", entry_point))
        assert served == plain, words
        assert "of a thread" in plain and "of a handler" in plain


def test_a_rank_whose_hook_fails_ends_the_job(job: Job, mpich: Mpi, entry_point: str) -> None:
    text = """
import sys
from mpi4py import MPI
def hook(*words): raise KeyError("of the hook")
if MPI.COMM_WORLD.rank == 1:
    {how}
    1 / 0
MPI.COMM_WORLD.Barrier()
"""
    for how in ("sys.excepthook = hook", "del sys.excepthook") if entry_point != "sitecustomize" else ("pass",):
        outcome = job.run(mpich, 2, job.script(text.format(how=how)), entry_point=entry_point, seconds=30)
        assert outcome.status not in (0, None), outcome.stderr
        assert "ZeroDivisionError: division by zero" in outcome.stderr
        assert "mpiimport/" not in outcome.stderr


@pytest.mark.parametrize("entry_point", SERVED_BY_COMMAND)
def test_an_interrupt_ends_by_the_signal(job: Job, entry_point: str) -> None:
    script = job.script(ENDS["a signal of an interrupt"].replace("import os", "import sys, os"))
    assert ended(job, entry_point, script)[0] == -signal.SIGINT
