"""Every block of docs/workflows.md does what the page says: a reader's shell runs it, with the real manager."""

import re
import subprocess
from typing import cast

import pytest

from lab import provisioning
from lab.ranks import Mpi
from tests.conftest import provision
from tests.containers.cells import Site
from tests.containers.workflows.manager import Manager
from tests.containers.workflows.story import PREFIX, Story, stories, with_extras_resolved

# These run with every `make test`; all others take long, or are started by tests of their own.
EVERYDAY = {"The job", "IPython Parallel", "Snakemake", "GNU parallel", "How fast tasks are done"}
SLURM = {"sbatch", "srun", "slurm", "dask_jobs.py"}


def cases() -> list[object]:
    full = pytest.mark.full
    return [
        pytest.param(story, id=story.heading, marks=[] if story.heading in EVERYDAY else full) for story in stories()
    ]


@pytest.mark.parametrize("story", cases())
def test_a_reader_who_pastes_the_blocks_sees_what_the_page_says(
    story: Story, site: Site, mpich: Mpi, request: pytest.FixtureRequest
) -> None:
    manager = with_servers(story, request) or Manager.of(site, mpich, story.packages)
    changes = told(story, manager, request)
    said = ""
    for text, expected in story.commands:
        script = manager.directory / "pasted.sh"
        script.write_text("set -euo pipefail\n" + with_extras_resolved(text).replace(PREFIX, str(site.prefix)))
        outcome = manager.run("bash", script, **changes)
        assert outcome.status == 0, outcome.stdout + outcome.stderr
        said += outcome.stdout + outcome.stderr
        assert lines(expected) <= lines(outcome.stdout), outcome.stdout
    said += "".join(file.read_text() for kind in ("*.err", "*.out") for file in manager.directory.rglob(kind))
    for ranks in set(re.findall(r"([2-9]\d*) ranks: ", said)):
        assert f" on {ranks} ranks; figures of all ranks" in said
        assert "other ranks, python modules from memory" in said
    assert manager.is_clean(), manager.processes()


def with_servers(story: Story, request: pytest.FixtureRequest) -> Manager | None:
    """The manager of the fixture ``LIST_with_servers``, where the packages of that list need servers."""
    if not story.packages:
        return None
    try:
        return cast(Manager, request.getfixturevalue(f"{story.packages.replace('-', '_')}_with_servers"))
    except pytest.FixtureLookupError:
        return None


def told(story: Story, manager: Manager, request: pytest.FixtureRequest) -> dict[str, str]:
    """What the reader's machine has: the image, the manager's programs, their place in the image as well."""
    (manager.directory / "img.sif").symlink_to(manager.image)
    path = f"{manager.environment()['PATH']}:{manager.site.prefix / 'bin'}"
    changes = {"PATH": path, "PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "APPTAINERENV_PREPEND_PATH": "/opt/mpich/bin"}
    changes |= {"APPTAINER_BIND": str(manager.site.images), "COLUMNS": "120"}
    words = set(re.findall(r"[\w./-]+", story.script))
    if words & SLURM:
        changes |= request.getfixturevalue("slurm").environment
    if story.packages:
        packages = manager.python.parent.parent
        changes["APPTAINER_BIND"] += f",{packages}"
        changes["APPTAINERENV_PYTHONPATH"] = str(next(packages.glob("lib/python3*/site-packages")))
    for program in sorted(set(re.findall(r"^(?:\w+=\S+ )*([\w-]+)", story.script, re.MULTILINE))):
        if not is_known(program, changes["PATH"]):
            if not (provisioning.SCRIPTS / f"{program}.sh").exists():
                # Only the manager itself may be missing.
                assert program == story.heading.lower(), f"{program} is no command"
                pytest.skip(f"{program} is not on PATH, and the archives that this machine uses do not have it")
            provision(f"{program}.sh")
    return changes


def is_known(word: str, path: str) -> bool:
    """Tell whether it is a program there, or a shell's own word."""
    return subprocess.run(["bash", "-c", 'type "$0"', word], env={"PATH": path}, capture_output=True).returncode == 0


def lines(text: str) -> set[str]:
    return {line.strip() for line in text.splitlines() if line.strip()}
