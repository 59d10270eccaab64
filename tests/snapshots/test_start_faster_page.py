"""docs/start-faster.md does what it says, command by command."""

import re
from pathlib import Path

from lab.ranks import Mpi, run
from tests.conftest import ROOT, Job, settle

PAGE = (ROOT / "docs" / "start-faster.md").read_text()
FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROGRAM, MADE, SAID = (text for _, text in FENCED.findall(PAGE))
COMMANDS = re.findall(r"^ {4}(.*)$", FENCED.sub("", PAGE), re.MULTILINE)


def shape(printed: str) -> str:
    return re.sub(r"[\d.]+", "N", printed)


def test_every_command_of_the_page_does_what_the_page_says(job: Job, mpich: Mpi) -> None:
    """With two ranks in the place of 64; tests/containers/test_prepared_snapshots.py has those in containers."""
    settle(job.script(PROGRAM))
    places = [str(job.prefix / "bin"), str(mpich.prefix / "bin"), job.first_on_path()["PATH"]]
    variables = job.environment(mpich, PATH=":".join(places), MPIIMPORT_SNAPSHOTS=str(job.library()))
    printed = []
    for command in COMMANDS:
        if "singularity" in command:
            continue
        outcome = run(["sh", "-c", command.replace("-n 64", "-n 2")], variables, 120, job.directory)
        assert outcome.status == 0, (command, outcome)
        printed.append(outcome.stdout + outcome.stderr)
    prepare, start, verbose, listed, shown, plain, _, report, stopped, _ = printed
    both = ["rank 0 of 2", "rank 1 of 2"]
    assert shape(prepare).startswith(shape(MADE))
    assert sorted(start.splitlines()) == sorted(stopped.splitlines()) == both
    assert shape(SAID).strip() in shape(verbose) and "app.py" in listed and MADE.splitlines()[1] in shown
    assert set(both) <= set(plain.splitlines()) and "plainly in the last recorded" in " ".join(report.split())
    assert list(Path(job.library()).glob("*/*/image")) == []
