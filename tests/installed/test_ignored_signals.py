"""What is started through one of our programs ignores the signals that it would ignore plainly, and no other."""

import signal
import sys
from pathlib import Path

import pytest

from lab.ranks import clean_environment, run

# Those that nobody can ignore, the C library's, and those of the processor and of profilers, which Go keeps for itself.
KEPT = {signal.SIGKILL, signal.SIGSTOP, 32, 33} | {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL}
KEPT |= {signal.SIGTRAP, signal.SIGSYS, signal.SIGPROF, signal.SIGSTKFLT}
ALL = sorted(set(range(1, 65)) - KEPT)
SETS = {"none": [], "all": ALL, "some": ALL[::2], "others": ALL[1::2]}
# Ignores the signals named in the first word, and no other.
IGNORING = """
import os, signal, sys
for number in set(range(1, 65)) - {9, 19, 32, 33}:
    signal.signal(number, signal.SIG_IGN if str(number) in sys.argv[1].split() else signal.SIG_DFL)
os.execv(sys.argv[2], sys.argv[2:])
"""
# Shells have dispositions of their own.
RUNTIME = """#!/usr/bin/awk -f
BEGIN { while ((getline line < "/proc/self/status") > 0) if (line ~ /SigIgn/) print line }
"""
ENTRY_POINTS = {
    "run": ["bin/mpiimport", "run", "--"],
    "session": ["bin/mpiimport", "run", "--session", "--"],
    "exec": ["bin/mpiimport", "exec", "--"],
    "shim": ["shim/apptainer", "exec", "--mpiimport", "image"],
    "entry": ["bin/mpiimport-entry"],
    "entry that stays": ["bin/mpiimport-entry", "--init"],
    "plan": ["bin/mpiimport-plan", "apply"],
    "python-mpi": ["bin/python-mpi"],
}


@pytest.mark.parametrize("mode", ["1", "0"])
@pytest.mark.parametrize("signals", SETS)
@pytest.mark.parametrize("entry_point", ENTRY_POINTS)
def test_what_was_ignored_stays_ignored(
    prefix: Path, tmp_path: Path, entry_point: str, signals: str, mode: str
) -> None:
    runtime = tmp_path / "apptainer"
    runtime.write_text(RUNTIME)
    # Its options are not awk's.
    (tmp_path / "python").write_text(f"#!/usr/bin/env -S awk -f {runtime} --\n")
    for script in (runtime, tmp_path / "python"):
        script.chmod(0o755)
    (tmp_path / "image").touch()
    environment = clean_environment(PATH=f"{tmp_path}:/usr/bin:/bin", MPIIMPORT=mode)
    program, *words = ENTRY_POINTS[entry_point]
    line = [str(prefix / program), *words]
    line += [str(tmp_path / "image")] if entry_point == "exec" else []
    status = ["/usr/bin/grep", "SigIgn", "/proc/self/status"]
    ignoring = [sys.executable, "-c", IGNORING, " ".join(map(str, SETS[signals]))]
    plain, ours = (run([*ignoring, *command], environment, 60, tmp_path) for command in (status, line + status))
    assert plain.status == 0 and ignored(plain.stdout).bit_count() == len(SETS[signals]), plain
    assert (ours.status, ignored(ours.stdout)) == (0, ignored(plain.stdout)), ours.stderr


def test_a_command_that_ends_at_once_leaves_its_status(prefix: Path) -> None:
    """However long the process in front of it takes to see to its signals."""
    slowly = ["strace", "-o", "/dev/null", "-e", "inject=rt_sigaction:delay_enter=5000"]
    ignoring = [sys.executable, "-c", IGNORING, " ".join(map(str, ALL))]
    command = [str(prefix / "bin" / "mpiimport-entry"), "--init", "/bin/sh", "-c", "exit 7"]
    outcome = run([*slowly, *ignoring, *command], clean_environment(MPIIMPORT="0"), 60)
    assert outcome.status == 7, outcome.stderr


def ignored(text: str) -> int:
    """The mask that the kernel shows, less the C library's own signals, which who starts the tests may ignore."""
    return int(text.split()[1], 16) & ~(1 << 31 | 1 << 32)
