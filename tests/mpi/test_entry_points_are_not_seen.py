"""A program sees nothing of how it was started: its words, flags, frames, directory and streams are its own."""

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome, run
from tests.conftest import Job
from tests.mpi.sameness import Setting, launch, reporting

ENTRY_POINTS = ["early", "module", "sitecustomize"]
WORDS = "import json, os, sys\nos.write(1, (json.dumps([sys.argv, sys.orig_argv]) + '\\n').encode())\n"
TRIED = {"script": ["app.py"], "module": ["-m", "app"], "code": ["-c", "import app"]}


@pytest.mark.parametrize("kind", TRIED)
@pytest.mark.parametrize("where", ["sitecustomize", "usercustomize"])
def test_customisation_sees_the_command_line_of_the_program(job: Job, mpich: Mpi, kind: str, where: str) -> None:
    job.script(WORDS, f"path/{where}.py")
    job.script(WORDS)
    words = [*TRIED[kind], "an argument", "-x"]
    # A virtual environment looks for no customisation by users.
    job = Job(job.prefix, job.directory, sys._base_executable)  # type: ignore[attr-defined]
    plain, served = (
        job.run(mpich, 2, *words, entry_point=entry_point, PYTHONPATH=str(job.directory / "path"))
        for entry_point in ("plain", "early")
    )
    assert len(plain.lines()) == 4
    assert served.lines() == plain.lines(), served.stderr


def test_customisation_may_change_the_words_of_the_program(job: Job, mpich: Mpi) -> None:
    job.script("import sys; sys.argv[1:] = ['changed']; sys.orig_argv.append('too')", "path/sitecustomize.py")
    job.script(WORDS)
    plain, served = (
        job.run(mpich, 2, "app.py", "word", entry_point=entry_point, PYTHONPATH=str(job.directory / "path"))
        for entry_point in ("plain", "early")
    )
    assert "changed" in plain.stdout and "too" in plain.stdout
    assert served.lines() == plain.lines(), served.stderr


def test_what_customisation_puts_into_main_is_the_programs(job: Job, mpich: Mpi, entry_point: str) -> None:
    """But with ``-m``, where ``__main__`` is ours at that time."""
    job.script("import sys; sys.modules['__main__'].put = 1", "path/sitecustomize.py")
    path = str(job.directory / "path")
    outcome = job.run(mpich, 2, "-c", "print('put' in globals())", entry_point=entry_point, PYTHONPATH=path)
    assert outcome.lines() == [str(entry_point != "module")] * 2, outcome.stderr


def test_under_m_customisation_sees_the_command_line_as_it_was_given(job: Job, mpich: Mpi) -> None:
    """Python runs ``site`` before any of our code."""
    job.script(WORDS, "path/sitecustomize.py")
    path = f"{job.switches('module')['PYTHONPATH']}:{job.directory / 'path'}"
    outcome = job.run(mpich, 2, "-v", job.script(""), "word", entry_point="module", PYTHONPATH=path)
    script = str(job.directory / "app.py")
    expected = [["-m", "-v", script, "word"], [sys.executable, "-m", "mpiimport", "-v", script, "word"]]
    assert [json.loads(line) for line in outcome.lines()] == [expected] * 2


STARTED = """
import subprocess, sys
seen["flags"] = repr(sys.flags)
seen["for children"] = subprocess._args_from_interpreter_flags()
seen["words"] = [sys.argv, sys.orig_argv]
seen["path"] = sys.path
seen["a child"] = subprocess.run([sys.executable, *subprocess._args_from_interpreter_flags(), "-c", "import sys; print(sys.flags, 'site' in sys.modules)"],
    stdout=subprocess.PIPE, text=True).stdout
"""
# The early start's flags in one word with others, and what the program's are then.
COMBINED = {
    "-IS": ["-I"], "-SI": ["-I"], "-ES": ["-E"], "-Su": ["-u"], "-BSE": ["-BE"], "-SWerror": ["-Werror"],
    "-SSs": ["-Ss"], "-S -S": ["-S"], "-S -Wonce": ["-Wonce"], "-W S -S": ["-W", "S"], "-SX utf8": ["-X", "utf8"], "-uSXutf8": ["-uXutf8"],
}  # fmt: skip


@pytest.mark.parametrize("given", COMBINED)
def test_the_flag_of_the_early_start_may_stand_among_others(job: Job, given: str) -> None:
    script = job.script(reporting(job, STARTED))
    start = str(job.prefix / "lib" / "mpiimport" / "start.py")
    seen = []
    for words in ([*COMBINED[given], str(script)], [*given.split(), start, str(script)]):
        outcome = run([sys.executable, *words], {"PATH": os.environ["PATH"]}, 60, job.directory)
        assert (outcome.status, outcome.ours()) == (0, []), outcome.stderr
        (file,) = job.directory.glob("seen-*.json")
        seen.append(json.loads(file.read_text()))
        file.unlink()
    assert seen[1] == seen[0]


@pytest.mark.parametrize("given", [["-m", "mpiimport"], ["-mmpiimport"], ["-Bum", "mpiimport"], ["-bmmpiimport"]])
def test_the_flag_of_the_module_may_stand_among_others(job: Job, given: list[str]) -> None:
    job.script(WORDS)
    variables = {"PYTHONPATH": str(job.prefix / "lib")}
    outcome = run([sys.executable, *given, "app.py", "word"], variables, 60, job.directory)
    letters = [given[0][: given[0].index("m")]] if given[0][1] != "m" else []
    assert json.loads(outcome.stdout) == [["app.py", "word"], [sys.executable, *letters, "app.py", "word"]]


def test_a_start_script_that_python_was_not_given_the_flag_for(job: Job) -> None:
    script = job.script("import sys; print(sys.flags.no_site, sys.argv, sys.orig_argv[1:])")
    start = str(job.prefix / "lib" / "mpiimport" / "start.py")
    outcome = run([sys.executable, "-u", start, str(script)], {}, 60, job.directory)
    assert outcome.stdout == f"0 {[str(script)]} {['-u', str(script)]}\n", outcome.stderr


def test_an_interpreter_that_is_not_served_is_given_its_own_command_line(job: Job, prefix: Path) -> None:
    """What runs plainly becomes the same interpreter without our flag and script."""
    shutil.copytree(prefix / "lib" / "mpiimport", job.directory / "broken")
    start = job.directory / "broken" / "start.py"
    text = start.read_text().replace("reason = why_not()", "reason = 'not this one'")
    start.write_text(text)
    script = job.script("import sys; print(sys.flags.no_site, sys.flags.isolated, sys.argv, sys.orig_argv[1:])")
    for given, left in {"-S": [], "-IS": ["-I"], "-uS -Wonce": ["-u", "-Wonce"]}.items():
        outcome = run([sys.executable, *given.split(), str(start), str(script), "word"], {}, 60, job.directory)
        isolated = int("-I" in left)
        assert outcome.stdout == f"0 {isolated} {[str(script), 'word']} {[*left, str(script), 'word']}\n", (
            outcome.stderr
        )
        assert len(outcome.ours()) == 1


DEPTH = (
    "import sys\nframe, depth = sys._getframe(), 0\nwhile frame: frame, depth = frame.f_back, depth + 1\nprint(depth)"
)


@pytest.mark.parametrize("switch", ["force", "0"])
@pytest.mark.parametrize("words", [["app.py"], ["-m", "app"], ["-c", DEPTH]], ids=["script", "module", "code"])
def test_so_many_frames_lie_below_a_program(job: Job, mpich: Mpi, words: list[str], switch: str) -> None:
    """Of ours one at most; with ``-m`` there are the two of Python's own runpy, too."""
    job.script(DEPTH)
    depths = {
        entry_point: [
            int(line) for line in job.run(mpich, 1, *words, entry_point=entry_point, MPIIMPORT=switch).lines()
        ]
        for entry_point in ("plain", *ENTRY_POINTS)
    }
    (plain,) = depths.pop("plain")
    assert depths == {"early": [plain + 1], "module": [plain + 3], "sitecustomize": [plain]}


def test_a_command_of_an_environment_has_two_frames_below_the_program(job: Job, mpich: Mpi) -> None:
    """As pip writes it."""
    command = job.script(
        "import sys\nfrom mpiimport.__main__ import main\nif __name__ == '__main__':\n    sys.exit(main())",
        "python-mpi",
    )
    script = job.script(DEPTH)
    variables = job.environment(mpich, **job.switches("module"))
    outcome = run([*mpich.command(1), sys.executable, str(command), str(script)], variables, 60, job.directory)
    assert outcome.lines() == ["3"], outcome.stderr


@pytest.mark.parametrize("switch", ["force", "0"])
@pytest.mark.parametrize("entry_point", ["early", "module"])
@pytest.mark.parametrize("kind", ["script", "module", "code", "missing"])
def test_a_current_directory_that_is_no_more(job: Job, mpich: Mpi, kind: str, entry_point: str, switch: str) -> None:
    text = "import os, sys\nprint(sys.path, sys.argv, globals().get('__file__'))"
    words = {"script": [str(job.script(text))], "module": ["-m", "this"], "code": ["-c", text], "missing": ["app.py"]}[
        kind
    ]
    found = []
    for start in ("plain", entry_point):
        gone = ["bash", "-c", 'mkdir "$0" && cd "$0" && rmdir "$0" && exec "$@"', str(job.directory / "gone")]
        variables = job.environment(mpich, **{**job.switches(entry_point), "MPIIMPORT": switch})
        found.append(run([*mpich.command(1), *gone, *job.python(start), *words], variables, 60, job.directory))
    plain, served = found
    assert (served.status, served.stdout) == (plain.status, plain.stdout), served.stderr
    ours = [line for line in served.stderr.splitlines() if not line.startswith("mpiimport: running as plain Python: ")]
    assert ours == plain.stderr.splitlines()


def test_no_warning_of_an_encoding_is_ours(job: Job, mpich: Mpi, entry_point: str) -> None:
    text = "import json, numpy, sysconfig, importlib.metadata, multiprocessing.util\nfrom mpi4py import MPI\nsysconfig.get_config_vars()"
    setting = Setting(flags=("-X", "warn_default_encoding"))
    script = job.script(text)
    # Twice, for the second run knows what the first has learned.
    for report in ({}, {"MPIIMPORT_REPORT": str(job.directory / "report.json")}, {"MPIIMPORT_REPORT": "-"}):
        plain, served = (
            launch(job, mpich, start, script, setting=setting, **report)[0] for start in ("plain", entry_point)
        )
        assert served.status == 0, served.stderr
        found = [line for line in served.stderr.splitlines() if "EncodingWarning" in line]
        assert {*found} <= {line for line in plain.stderr.splitlines() if "EncodingWarning" in line}


STALE = "raise ImportError('of another installation')\n"


@pytest.mark.parametrize("stale", ["other files", "another start script", "no digest"])
def test_a_rank_path_of_other_files_is_not_taken(
    job: Job, mpich: Mpi, prefix: Path, tmp_path: Path, stale: str
) -> None:
    installed, other = tmp_path / "installed", tmp_path / "other"
    for copy in (installed, other):
        shutil.copytree(prefix / "lib", copy / "lib")
    package, unlike = installed / "lib" / "mpiimport", other / "lib" / "mpiimport"
    module = "runtime/payload/module_code.py" if stale == "other files" else "runtime/startup/decision.py"
    with (unlike / module).open("a") as stream:
        stream.write(STALE)
    (unlike / "runtime" / "startup" / "decision.py").write_text(STALE)
    subprocess.run([sys.executable, "-B", unlike / "bundle.py"], check=True)
    bundle = f"rank_path.{sys.implementation.cache_tag}"
    shutil.copy(unlike / bundle, package / bundle)
    if stale == "no digest":
        # A start script as it is before anything is installed.
        text = (package / "start.py").read_text().splitlines(keepends=True)
        (package / "start.py").write_text(
            "".join('FILES_DIGEST = ""\n' if line.startswith("FILES_DIGEST") else line for line in text)
        )
    outcome = Job(installed, tmp_path).run(mpich, 2, "-c", "import json; print(type(json.__loader__).__name__)")
    assert (outcome.lines(), outcome.ours()) == (["StoreSourceLoader"] * 2, []), outcome.stderr


SPEAKING = """
import os, sys
from mpi4py import MPI
print(sys.stderr, flush=True)
"""


VERBOSE = {"early": ["-v"], "module": ["-v"], "sitecustomize": []}


def closed(job: Job, mpi: Mpi, entry_point: str, text: str, **environment: str) -> Outcome:
    """Run a program whose standard error is closed, with all that we would say."""
    variables = job.environment(mpi, **{**job.switches(entry_point), **environment})
    words = [*job.python(entry_point), *VERBOSE[entry_point], str(job.script(text))]
    return run([*mpi.command(2), "bash", "-c", 'exec "$@" 2>&-', "bash", *words], variables, 60, job.directory)


@pytest.mark.parametrize("setting", [{}, {"MPIIMPORT": "1"}, {"MPIIMPORT_DEADLINE": "soon"}], ids=repr)
def test_nothing_is_said_where_standard_error_is_closed(
    job: Job, mpich: Mpi, entry_point: str, setting: dict[str, str]
) -> None:
    outcome = closed(job, mpich, entry_point, SPEAKING, MPIIMPORT_REPORT="-", **setting)
    assert (outcome.status, outcome.lines()) == (0, ["None"] * 2), outcome.stderr


TAKEN = """
import os, sys
# A file of the program's gets the number of standard error, or is put there on purpose.
if sys.argv[1] == "taken":
    os.close(2)
    file = os.open(f"data.{os.getpid()}", os.O_CREAT | os.O_WRONLY)
    if file != 2: os.dup2(file, 2)
elif sys.argv[1] == "none":
    sys.stderr = None
else:
    sys.stderr.close()
import json.tool, csv, decimal
from mpi4py import MPI
"""


@pytest.mark.parametrize("way", ["taken", "none", "closed"])
def test_nothing_is_said_into_a_file_of_the_programs(job: Job, mpich: Mpi, entry_point: str, way: str) -> None:
    outcome = job.run(
        mpich, 2, *VERBOSE[entry_point], job.script(TAKEN), way, entry_point=entry_point, MPIIMPORT_REPORT="-"
    )
    assert (outcome.status, outcome.stdout) == (0, ""), outcome.stderr
    assert [file.read_bytes() for file in job.directory.glob("data.*")] == ([b""] * 2 if way == "taken" else [])


LATE = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
file = os.open("data.late", os.O_CREAT | os.O_WRONLY)
os.dup2(file, 2)
from mpiimport.runtime.startup.deadline import run_before_deadline
run_before_deadline(1, lambda: time.sleep(30))
"""


def test_a_deadline_says_nothing_into_a_file_of_the_programs(job: Job, prefix: Path) -> None:
    words = [sys.executable, str(job.script(LATE)), str(prefix / "lib")]
    outcome = run(["bash", "-c", 'exec "$@" 2>&-', "bash", *words], {}, 60, job.directory)
    assert (outcome.status, (job.directory / "data.late").read_bytes()) == (1, b"")
    outcome = run(
        ["bash", "-c", 'exec "$@"', "bash", *words[:1], "-c", LATE.replace("os.dup2(file, 2)", ""), words[2]],
        {},
        60,
        job.directory,
    )
    assert outcome.status == 1 and "passed its deadline" in outcome.stderr


def test_every_line_of_the_rank_path_goes_through_one_function(prefix: Path) -> None:
    """Elsewhere a closed stream would be stdout, or a file of the program's."""
    runtime = prefix / "lib" / "mpiimport" / "runtime"
    found = []
    for file in runtime.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
            stream = isinstance(node, ast.Attribute) and node.attr in ("stderr", "__stderr__")
            if (called or stream) and file.name != "messages.py":
                found.append(file.name)
    assert found == []
