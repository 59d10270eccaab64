"""`--report`: whose time went where, whatever becomes of the job, and without changing it."""

import json
import os
import re
import shutil
import sys
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from benchmarks.demonstrations.oversubscribed import on_one_core
from lab.ranks import Mpi, Outcome, run
from mpiimport.host.report.file import SCHEMA
from tests.conftest import Job

TICK = 0.011
AGE = """
import os, time
with open("/proc/self/stat") as stream:
    birth = int(stream.read().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
print("age", time.clock_gettime(time.CLOCK_BOOTTIME) - birth, time.process_time())
"""
BURN = """
import time
end = time.thread_time() + {}
while time.thread_time() < end:
    pass
"""


def reported(
    job: Job, mpi: Mpi, ranks: int, script: Path, entry_point: str = "early", **environment: str
) -> tuple[Outcome, dict[str, Any]]:
    """Run ``script``; return how it ended, and its report, which the schema allows."""
    path = job.directory / "report.json"
    path.unlink(missing_ok=True)
    outcome = job.run(mpi, ranks, script, entry_point=entry_point, MPIIMPORT_REPORT=str(path), **environment)
    assert outcome.status is not None, outcome.stderr
    report: dict[str, Any] = json.loads(path.read_text())
    jsonschema.validate(report, json.loads(SCHEMA.read_text()))
    return outcome, report


def of_ranks(report: dict[str, Any], clock: str) -> list[float]:
    """The sum of all phases, rank by rank."""
    return [sum(column) for column in zip(*report["time_line"][clock].values(), strict=True)]


def test_phases_add_up_to_the_life_of_each_rank(job: Job, mpi: Mpi, entry_point: str) -> None:
    started = time.monotonic()
    outcome, report = reported(job, mpi, 3, job.script(AGE), entry_point)
    took = time.monotonic() - started
    ages = sorted(tuple(map(float, line.split()[1:])) for line in outcome.lines() if line.startswith("age"))
    assert len(ages) == 3, outcome.stderr
    assert report["scope"] == "all" and report["time_line"]["ranks"] == [0, 1, 2]
    walls, own = of_ranks(report, "wall"), of_ranks(report, "own")
    assert all(age - TICK <= wall <= took for (age, _), wall in zip(ages, sorted(walls), strict=True))
    least = min(used for _, used in ages)
    assert all(least <= used + 0.001 for used in own)
    for clock, sums in (("wall", walls), ("own", own)):
        spread = report["total"][clock]
        assert [spread["min"], spread["max"]] == pytest.approx([min(sums), max(sums)], abs=0.001)
    wanted = ["interpreter", "load", "mpi_init", "handshake", "root_read", "broadcast", "store", "imports", "main"]
    if entry_point == "early":
        wanted.insert(-2, "site")
    # What the program imports is there already where `site` has run before.
    assert [phase for phase in report["phases"] if phase != "imports"] == [name for name in wanted if name != "imports"]


def test_a_sleep_is_wall_and_work_is_own_time(job: Job, mpich: Mpi) -> None:
    _, report = reported(job, mpich, 2, job.script("import time; time.sleep(0.4)" + BURN.format(0.2)))
    main = report["phases"]["main"]
    assert main["own"]["min"] >= 0.2
    walls, own = (report["time_line"][clock]["main"] for clock in ("wall", "own"))
    assert all(wall - used >= 0.39 for wall, used in zip(walls, own, strict=True))


def test_imports_are_told_from_the_program_and_modules_from_those_they_import(job: Job, mpich: Mpi) -> None:
    job.script("import inner\nimport time; time.sleep(0.3)", "outer.py")
    job.script(BURN.format(0.25), "inner.py")
    job.script(BURN.format(0.15) + "raise ValueError", "failing.py")
    job.script(BURN.format(0.2), "threaded.py")
    text = """
import outer
try:
    import failing
except ValueError:
    pass
import threading
thread = threading.Thread(target=__import__, args=["threaded"])
thread.start()
thread.join()
"""
    outcome, report = reported(job, mpich, 2, job.script(text + BURN.format(0.1)))
    assert outcome.status == 0, outcome.stderr
    imports, main = report["phases"]["imports"], report["phases"]["main"]
    assert imports["own"]["min"] >= 0.4 and imports["wall"]["min"] >= 0.7
    # The import in another thread is not one that the program waits for.
    assert main["own"]["min"] >= 0.3
    modules = {module["name"]: module for module in report["modules"]}
    assert modules["inner"]["own"] >= 0.25 and modules["failing"]["own"] >= 0.15 and modules["threaded"]["own"] >= 0.2
    assert modules["outer"]["own"] < 0.2 and modules["outer"]["wall"] >= 0.3
    assert all(module["largest_own"] >= (module["own"] or 0) for module in report["modules"])


def test_what_root_imported_stands_below_what_imported_it(job: Job, mpich: Mpi) -> None:
    job.script("import first, second, _decimal", "package/__init__.py")
    job.script("import time; time.sleep(0.3)", "first.py")
    job.script(BURN.format(0.2), "second.py")
    text = "import time\nif __import__('os').environ['PMI_RANK'] == '1': time.sleep(2)\ntime.sleep(0.5)\nimport package"
    _, report = reported(job, mpich, 2, job.script(text))
    found = report["imports"]
    at = found["name"].index("package")
    assert found["name"][at + 1 : at + 4] == ["first", "second", "_decimal"]
    assert found["depth"][at : at + 4] == [0, 1, 1, 1]
    outer, first, second, _ = ({key: found[key][at + place] for key in ("began", "own", "wall")} for place in range(4))
    root = {phase: walls[0] for phase, walls in report["time_line"]["wall"].items()}
    before = sum(seconds for phase, seconds in root.items() if phase not in ("imports", "main"))
    assert before + 0.5 <= outer["began"] <= first["began"] <= second["began"] - 0.3
    assert outer["began"] + outer["wall"] <= sum(root.values())
    assert first["wall"] >= 0.3 > first["own"] and second["own"] >= 0.2
    assert outer["wall"] >= first["wall"] + second["wall"] and outer["own"] >= first["own"] + second["own"]


def test_a_module_that_root_does_not_import_is_listed_by_its_file(job: Job, mpich: Mpi) -> None:
    job.script(BURN.format(0.2), "elsewhere.py")
    text = "import os, json\nif os.environ['PMI_RANK'] == '1': import elsewhere"
    _, report = reported(job, mpich, 2, job.script(text))
    (found,) = [module for module in report["modules"] if module["file"].endswith("/elsewhere.py")]
    assert found["name"] is found["own"] is None and found["largest_own"] >= 0.2


def test_answers_from_memory_are_counted(job: Job, mpich: Mpi) -> None:
    attempt = "\ntry: import absent_{}\nexcept ImportError: pass"
    counted = []
    for absent in 0, 7:
        script = job.script("import decimal" + "".join(attempt.format(number) for number in range(absent)))
        counted.append(reported(job, mpich, 3, script)[1])
    few, many = (report["answered"]["absences"]["others"] for report in counted)
    # One for each directory of sys.path that root listed: the standard library's two, and site-packages.
    assert many - few == 2 * 7 * 3
    saved = [report["estimated_path_calls_saved"] for report in counted]
    assert saved[1] - saved[0] == many - few
    modules = counted[1]["answered"]
    assert modules["python_modules"]["others"] >= 2 and modules["extension_modules"]["others"] == 2
    assert counted[1]["root_read"]["files_opened"] > counted[1]["root_read"]["directories_listed"] > 0


@pytest.mark.parametrize(
    ("end", "scope"),
    [
        ("os.kill(os.getpid(), 9) if rank else time.sleep(30)", "start-up"),
        ("raise ValueError if rank else time.sleep(30)", "start-up"),
        ("time.sleep(30) if rank else [][1]", "root"),
        ("sys.exit(3)", "all"),
    ],
    ids=["a rank is killed", "a rank raises", "root raises", "a status"],
)
def test_whatever_ends_the_job_root_writes_what_it_knows(job: Job, mpich: Mpi, end: str, scope: str) -> None:
    # Root writes once it is ready itself; another rank may be so before.
    written = "not os.path.exists('report.json') or not open('report.json').read().endswith('}\\n')"
    text = f"import os, sys, time\nrank = int(os.environ['PMI_RANK'])\nwhile {written}: time.sleep(0.01)\n{end}"
    outcome, report = reported(job, mpich, 2, job.script(text.replace("raise ValueError if", "1 / 0 if")))
    assert outcome.status != 0
    assert report["scope"] == scope
    assert report["bytes_stored"] > 0 and "root_read" in report["phases"]
    assert ("main" in report["phases"]) == (scope != "start-up")


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("from mpi4py import MPI\nMPI.Finalize()", "all"),
        ("import mpi4py\nmpi4py.rc.finalize = False\nfrom mpi4py import MPI", "root"),
        ("from mpi4py import MPI", "all"),
    ],
    ids=["explicitly", "never", "at exit"],
)
def test_all_ranks_are_gathered_wherever_mpi_is_finalised(job: Job, mpi: Mpi, text: str, scope: str) -> None:
    last = "\nimport os, time\ndef report(): return os.path.exists('report.json') and open('report.json').read()\n"
    if "Finalize" in text:
        last += "time.sleep(0.5)\nif report(): print(report())"
    elif scope == "root":
        # MPICH's launcher ends the ranks that are left as soon as one leaves without having finalised.
        last += "while MPI.COMM_WORLD.rank and '\"scope\": \"root\"' not in (report() or ''): time.sleep(0.01)"
    outcome, report = reported(job, mpi, 2, job.script(text + last))
    assert report["scope"] == scope, outcome.stderr
    assert len(report["time_line"]["ranks"]) == (2 if scope == "all" else 1)
    if "Finalize" in text:
        assert '"scope": "all"' in outcome.stdout


def test_waiting_for_other_ranks_at_the_end_is_nobodys_main(job: Job, mpich: Mpi) -> None:
    _, report = reported(job, mpich, 2, job.script("import os, time\nif os.environ['PMI_RANK'] == '1': time.sleep(3)"))
    root, other = report["time_line"]["wall"]["main"]
    assert other >= 3 and root < other - 1


def test_a_job_that_runs_plainly_says_why_and_where_its_time_went(job: Job, mpich: Mpi) -> None:
    _, report = reported(job, mpich, 2, job.script("import decimal"), MPIIMPORT_INIT="off")
    assert "MPIIMPORT_INIT=off" in report["bypassed"] and report["ranks"] == 2
    assert report["scope"] == "root" and list(report["phases"]) == ["interpreter", "load", "site", "imports", "main"]


def test_one_line_compares_a_start_with_the_plain_one_that_was_recorded(job: Job, mpich: Mpi, prefix: Path) -> None:
    script = job.script("import decimal; from mpi4py import MPI; print('done')")
    verbose = {"MPIIMPORT_VERBOSE": "1", "MPIIMPORT_MANIFESTS": str(job.directory / "manifests")}

    def got(**variables: str) -> str:
        outcome = job.run(mpich, 2, script, **verbose, **variables)
        assert outcome.lines() == ["done", "done"], outcome.stderr
        return outcome.ours()[-1]

    assert re.fullmatch(r"mpiimport: 2 ranks: served; imports took \d\.\d s; \d+ of \d+ modules", got())
    recorded = got(MPIIMPORT_DEBUG="1", MPIIMPORT_REPORT="plain.json")
    assert recorded.startswith("mpiimport: 2 ranks: plain because everything is imported locally")
    plain = json.loads((job.directory / "plain.json").read_text())
    # What starts MPI is no import, here either.
    assert list(plain["phases"]) == ["interpreter", "load", "mpi_init", "site", "imports", "main"]
    assert re.search(r"; imports took \d\.\d s \(\d\.\d plainly in the last recorded run\);", got())
    assert "plainly in the last recorded run" in got(MPIIMPORT_INIT="off")


def test_a_dash_shows_a_table_on_standard_error(job: Job, mpich: Mpi) -> None:
    outcome = job.run(mpich, 2, "--report", "-", job.script("import decimal; print('done')"))
    assert outcome.lines() == ["done", "done"]
    lines = outcome.stderr.splitlines()
    assert lines[0] == "mpiimport: script app.py on 2 ranks; figures of all ranks"
    assert [line for line in lines if line.startswith("total ")] and len(lines) <= 30
    assert max(map(len, lines[:12])) <= 100


@pytest.mark.parametrize("name", ["none/r.json", "pipe"])
def test_a_report_that_cannot_be_written_is_one_line_and_a_pipe_is_not_waited_for(
    job: Job, mpich: Mpi, name: str
) -> None:
    os.mkfifo(job.directory / "pipe")
    outcome = job.run(mpich, 2, "--report", job.directory / name, job.script("import decimal"))
    assert outcome.status == 0
    assert {line.split(": [")[0] for line in outcome.ours()} == {"mpiimport: the report cannot be written"}


def test_the_program_may_change_its_directory(job: Job, mpich: Mpi) -> None:
    outcome = job.run(mpich, 2, "--report", "r.json", job.script("import os; os.chdir('/')"))
    assert outcome.status == 0 and json.loads((job.directory / "r.json").read_text())["scope"] == "all"


def test_nothing_is_measured_where_no_report_is_asked_for(job: Job, mpich: Mpi) -> None:
    text = """
import decimal, sys
loader = type(decimal.__spec__.loader)
print([name for name in ("exec_module", "create_module") for base in loader.__mro__[:2] if name in vars(base)],
      "mpiimport.runtime.report.costs" in sys.modules, "mpiimport.runtime.report.measured" in sys.modules)
"""
    assert job.run(mpich, 2, job.script(text)).lines() == ["[] False False"] * 2
    assert "True" in reported(job, mpich, 2, job.script(text))[0].stdout


@pytest.mark.parametrize("shell", [False, True], ids=["python", "a shell that becomes python"])
def test_the_entry_tells_the_start_of_the_process_from_that_of_python(
    job: Job, mpich: Mpi, prefix: Path, shell: bool
) -> None:
    script = job.script("import os; print(os.environ.get('_MPIIMPORT_STARTED'))")
    words = [sys.executable, str(script)]
    if shell:
        words = ["bash", "-c", "sleep 0.2; exec " + " ".join(words)]
    path = job.directory / "report.json"
    variables = job.environment(mpich, MPIIMPORT="force", MPIIMPORT_REPORT=str(path))
    command = [*mpich.command(2), str(prefix / "bin" / "mpiimport-entry"), *words]
    outcome = run(command, variables, 60, job.directory)
    assert outcome.lines() == ["None", "None"], outcome.stderr
    phases = json.loads(path.read_text())["phases"]
    assert list(phases)[:3] == ["exec", "interpreter", "load"]
    # The entry is done before the shell begins.
    assert phases["interpreter"]["wall"]["min"] >= (0.2 if shell else 0)


def test_a_core_that_ranks_share_lengthens_their_walls_and_not_their_own_time(mpich: Mpi, prefix: Path) -> None:
    alone, sharing = (on_one_core(mpich, prefix, ranks)["phases"]["main"] for ranks in (1, 4))
    assert sharing["own"]["median"] < 2 * alone["own"]["median"]
    assert sharing["wall"]["median"] > 2 * sharing["own"]["median"]
    # Nothing in the program waits for anything but a core.
    assert sharing["waited"]["median"] > sharing["wall"]["median"] / 2


def test_tables_and_plots_of_real_reports(job: Job, mpich: Mpi, prefix: Path) -> None:
    script = job.script("import decimal, statistics")
    for name in "first", "later":
        reported(job, mpich, 2, script)
        shutil.copy(job.directory / "report.json", job.directory / f"{name}.json")
    parts = [f"{name}-{plot}" for name in ("first", "later") for plot in ("time-line", "modules")]
    for kind in "svg", "png":
        command = [str(prefix / "bin" / "mpiimport"), "report", "first.json", "later.json", "--format", kind]
        outcome = run([*command, "--plots", kind], job.environment(mpich), 120, job.directory)
        assert outcome.status == 0, outcome.stderr
        assert "first" in outcome.stdout and "later" in outcome.stdout and "root_read" in outcome.stdout
        drawn = {path.name for path in (job.directory / kind).iterdir()}
        assert drawn == {f"{name}.{kind}" for name in [*parts, "operations"]}
    for path in (job.directory / "svg").iterdir():
        root = ElementTree.parse(path).getroot()
        assert root.tag.endswith("}svg") and len(list(root.iter())) > 50
    for path in (job.directory / "png").iterdir():
        data = path.read_bytes()
        assert data.startswith(b"\x89PNG\r\n\x1a\n") and data.endswith(b"IEND\xaeB`\x82")
