"""Users edit their script and their package between any two jobs, and prepare nothing again.

Each job computes what its files say now. Where the heads are as they were it has the installed packages from the base.
"""

import os
from pathlib import Path

import pytest

from lab.ranks import Mpi

from .baked import Baked
from .edited import OWN, SCRIPT, TOOL, Editor
from .edits import EDITS, EDITS_OF_TOOL, Edit
from .published import Jobs, share, unlike

ENOUGH = 0.9


def jobs_of(prefix: Path, baked: Baked, directory: Path, mpi: Mpi, *program: str) -> Jobs:
    """Jobs of a program of ``directory``, by default of its script."""
    place = directory / "program"
    return Jobs(prefix, baked, mpi, place, *(program or (str(place / "app.py"),)))


def failures(jobs: Jobs, editor: Editor, edits: list[Edit], each: int = 1) -> str:
    """Start a job behind so many edits each time. Return after which it is not as plainly, and after which it has no
    base. Before the first one the program itself is in the snapshot."""
    times = jobs.times(*OWN)
    assert jobs.prepare().status == 0
    assert unlike(jobs.plain(), jobs.start()) == []
    packages = {name.partition(".")[0] for name in jobs.new()}
    assert share(times, jobs.new()) >= ENOUGH and not packages & {"model", "settings", "tool"}
    found = []
    for number, edit in enumerate(edits, 1):
        edit.change(editor)
        if number % each and edit is not edits[-1]:
            continue
        started = jobs.start()
        new = jobs.new()
        found += [f"{edit.name}: {difference}" for difference in unlike(jobs.plain(), started)]
        # A program that ends by an exception does not say what it has imported.
        held = share(times, new or {*times}) if started.status == 0 else 1.0
        if held < ENOUGH and not edit.head:
            found.append(f"{edit.name}: {held:.1%} held; {started.ours()}")
    return "\n".join(found)


@pytest.mark.parametrize(
    ("renames", "each"),
    [
        pytest.param(False, 3, id="in place, some"),
        pytest.param(False, 1, id="in place", marks=pytest.mark.full),
        pytest.param(True, 1, id="renamed", marks=pytest.mark.full),
    ],
)
def test_edits_between_jobs(prefix: Path, baked: Baked, tmp_path: Path, mpich: Mpi, renames: bool, each: int) -> None:
    jobs = jobs_of(prefix, baked, tmp_path, mpich)
    assert failures(jobs, Editor(jobs.place, SCRIPT, renames), EDITS, each) == ""


def test_edits_of_a_package_that_is_run(prefix: Path, baked: Baked, tmp_path: Path, mpich: Mpi) -> None:
    jobs = jobs_of(prefix, baked, tmp_path, mpich, "-m", "tool")
    assert failures(jobs, Editor(jobs.place, TOOL), EDITS_OF_TOOL) == ""


def test_a_link_that_leads_to_another_directory_starts_what_lies_there(
    prefix: Path, baked: Baked, tmp_path: Path, mpich: Mpi
) -> None:
    link = tmp_path / "program" / "now"
    jobs = jobs_of(prefix, baked, tmp_path, mpich, str(link / "app.py"))
    for name in ("first", "second"):
        (jobs.place / name).mkdir(parents=True)
        (jobs.place / name / "app.py").write_text("import json\nfrom own import VALUE\nprint(VALUE)\n")
        (jobs.place / name / "own.py").write_text(f"VALUE = '{name}'\n")
    link.symlink_to("first")
    assert jobs.prepare().status == 0
    assert jobs.start().streams["out.0"] == "first\n"
    link.unlink()
    link.symlink_to("second")
    assert unlike(jobs.plain(), jobs.start()) == [] and jobs.start().streams["out.0"] == "second\n"


LIMITS = ("sh", "-c", 'umask 077; ulimit -n 200; ulimit -c 0; exec "$@"', "sh")
OTHER_HOST = ("unshare", "-u", "sh", "-c", 'hostname other; exec "$@"', "sh")
SEES = "print(os.umask(0), __import__('resource').getrlimit(7), os.uname().nodename, sys.argv[1:], os.getcwd())\n"


OWN_IMPORTS = "import model\nfrom model.relax import relax\nfrom settings import SIZE\n"
OWN_DEFINITIONS = "SIZE = 8\n\n\ndef relax(field):\n    return field / 2\n\n\nclass model:\n    VERSION = '3'\n"


@pytest.mark.parametrize("own", ["own modules", "none"])
def test_scripts_with_one_head_and_their_tasks_share_a_base(
    prefix: Path, baked: Baked, tmp_path: Path, mpich: Mpi, own: str
) -> None:
    """Tasks have directories, arguments, variables, limits and hosts of their own.

    So do scripts that begin alike with what is installed; those with own modules lie beside these.
    """
    jobs = jobs_of(prefix, baked, tmp_path, mpich)
    editor = Editor(jobs.place, SCRIPT)
    if own == "none":
        editor.replace("app.py", OWN_IMPORTS, OWN_DEFINITIONS)
    other = jobs.place / "other.py" if own != "none" else tmp_path / "elsewhere" / "app.py"
    other.parent.mkdir(exist_ok=True)
    other.write_text((jobs.place / "app.py").read_text().replace("STEPS = 5\n", f"STEPS = 4\n{SEES}"))
    times = jobs.times(*OWN)
    assert jobs.prepare().status == 0
    made = jobs.snapshots()
    assert made
    task = tmp_path / "task"
    task.mkdir()
    elsewhere = (*OTHER_HOST, *LIMITS) if os.geteuid() == 0 else LIMITS
    for script in (jobs.place / "app.py", other):
        for number, before in enumerate([(), elsewhere]):
            words = (script.name, "-x", str(number))
            changes = {"program": (str(script),), "before": before, "directory": task, "TASK": str(words)}
            started = jobs.start(*words, **changes)
            new = jobs.new()
            assert unlike(jobs.plain(*words, **changes), started) == []
            assert share(times, new) >= ENOUGH, (before, script, started.ours())
    assert jobs.snapshots() == made
