"""What Balsam is given for a job: words that it leaves as they are, and no rank of the launcher around them."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from mpiimport.host.complaint import Complaint
from mpiimport.workflows import Job, balsam
from mpiimport.workflows.inherited import without_rank

PYTHON = ("python3", "app.py")
RANK = "PMI_RANK=1 PMI_FD=9 PMIX_NAMESPACE=a HYDI_CONTROL_FD=5 MPI_LOCALRANKID=1 OMPI_COMM_WORLD_RANK=1 ALPS_APP_PE=1"


@pytest.fixture
def image(tmp_path: Path) -> str:
    (tmp_path / "img.sif").touch()
    return str(tmp_path / "img.sif")


def test_a_task_is_no_rank_of_the_job_that_its_worker_is() -> None:
    environment = dict(word.split("=") for word in f"PATH={os.environ['PATH']} OMPI_MCA_pml=ob1 A=b {RANK}".split())
    done = subprocess.run(without_rank(["env"]), env=environment, stdout=subprocess.PIPE, text=True, check=True)
    names = {line.partition("=")[0] for line in done.stdout.splitlines()} - {"PWD", "SHLVL", "_", "OLDPWD"}
    assert names == {"PATH", "OMPI_MCA_pml", "A"}


def test_words_stay_as_they_are() -> None:
    assert (
        subprocess.run(without_rank(["printf", "%s|", "a  b", "$A", "'"]), stdout=subprocess.PIPE).stdout
        == b"a  b|$A|'|"
    )


@pytest.mark.parametrize("program", ["{{x}}", "{% if %}", "{# no #}", "{{{", "it's {{", "}}"])
def test_what_is_shown_is_a_template_that_gives_the_words(program: str, image: str) -> None:
    job = Job("my-app", ("python3", "-c", program), image=image)
    text = balsam.shown(job)
    (literal,) = re.findall("command_template = (.*)\n", text)
    assert not re.search(r"\{[{%#]", literal)
    assert shlex.split(eval(literal)) == shlex.split(balsam.command(job, "mpi"))


@pytest.mark.parametrize(
    ("mode", "changes", "complaint"),
    [
        ("threads", {}, "job app is for the mode threads; Balsam has mpi and serial"),
        ("serial", {"ranks": 4, "ranks_per_node": 2}, "job app has 2 nodes, and a task of serial mode has one"),
        ("serial", {"ranks": 2, "launcher": ("no-such",)}, "job app has the launcher no-such, which is not on PATH"),
        ("mpi", {"program": ()}, "job app has no program"),
        ("mpi", {"image": "/no/such.sif"}, "job app has the image /no/such.sif, which does not exist"),
    ],
)
def test_a_job_that_balsam_could_not_run_is_refused(
    mode: str, changes: dict[str, object], complaint: str, image: str
) -> None:
    job = Job("app", **{"program": PYTHON, "image": image, **changes})  # type: ignore[arg-type]
    with pytest.raises(Complaint, match=re.escape(complaint)):
        balsam.application(job, 1, mode)
