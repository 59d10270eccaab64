"""A workflow's job is described once: as an object, in a file, and in the documentation; bad ones are refused."""

import json
import re
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mpiimport.host import planner
from mpiimport.host.cli import main
from mpiimport.host.commands.workflow import MANAGERS, shown_for
from mpiimport.host.complaint import Complaint
from mpiimport.workflows import Job, balsam, ipyparallel, parsl, psij
from mpiimport.workflows.job import MPIIMPORT, START
from mpiimport.workflows.job_file import SCHEMA, read_job
from tests.conftest import ROOT
from tests.containers.workflows.story import PAGE, Story, stories

EXAMPLES = ROOT / "examples" / "workflows"
PYTHON = ("python3", "app.py")
# Lines of a section.
SCREEN = 45


def job_in(directory: Path, **changes: object) -> Path:
    (directory / "img.sif").touch()
    file = directory / "job.yaml"
    fields = {"name": "app", "program": [*PYTHON], "image": str(directory / "img.sif"), **changes}
    file.write_text(json.dumps({name: value for name, value in fields.items() if value is not None}))
    return file


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, [str(MPIIMPORT), "exec", "i", "python3", "app.py", "7"]),
        ({"options": ("--bind", "/data")}, [str(MPIIMPORT), "exec", "--bind", "/data", "i", "python3", "app.py", "7"]),
        (
            {"ranks": 4, "profile": "site"},
            shlex.split(f"{MPIIMPORT} run --profile site -- mpiexec -n 4 apptainer exec i python3 app.py 7"),
        ),
        (
            {"ranks": 4, "profile": "site", "launcher_inside": True},
            shlex.split(f"{MPIIMPORT} exec --profile site i mpiexec -n 4 python3 app.py 7"),
        ),
        ({"image": "", "ranks": 2}, shlex.split(f"mpiexec -n 2 python3 -S {START} app.py 7")),
        (
            {"image": "", "program": ("/usr/bin/python3.11", "-u", "-X", "dev", "-m", "app")},
            shlex.split(f"/usr/bin/python3.11 -u -X dev -S {START} -m app 7"),
        ),
        ({"image": "", "program": ("python3.14t", "a.py")}, shlex.split(f"python3.14t -S {START} a.py 7")),
        ({"image": "", "program": ("python3", "-OS", "a.py")}, shlex.split(f"{MPIIMPORT} run -- python3 -OS a.py 7")),
        (
            {"image": "", "program": ("python3-config", "--libs"), "ranks": 2},
            shlex.split(f"{MPIIMPORT} run -- mpiexec -n 2 python3-config --libs 7"),
        ),
        ({"image": ""}, ["python3", "-S", str(START), "app.py", "7"]),
        ({"image": "", "profile": "site"}, shlex.split(f"python3 -S {START} -I site app.py 7")),
        ({"image": "", "program": ("solver",)}, [str(MPIIMPORT), "run", "--", "solver", "7"]),
    ],
)
def test_a_job_is_one_command(changes: dict[str, object], words: list[str]) -> None:
    fields: dict[str, object] = {"name": "app", "program": PYTHON, "image": "i", **changes}
    assert Job(**fields).words("7") == words  # type: ignore[arg-type]


def test_a_line_for_a_shell_keeps_every_word() -> None:
    job = Job("app", ("python3", "a b.py"), image="i", threads=2, environment={"NAME": "it's $HOME"}, cache=True)
    assert shlex.split(job.line("x y")) == [
        *["env", "OMP_NUM_THREADS=2", "MPIIMPORT_CACHE=auto", "NAME=it's $HOME"],
        *[str(MPIIMPORT), "exec", "i", "python3", "a b.py", "x y"],
    ]


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"ranks": 5, "ranks_per_node": 2}, "has 5 ranks, which 2 ranks per node do not divide; give ranks: 4"),
        ({"ranks": 1, "ranks_per_node": 2}, "has 1 ranks, which 2 ranks per node do not divide; give ranks: 2"),
        ({"image": "/no/such.sif"}, "has the image /no/such.sif, which does not exist; build or fetch it first"),
        ({"image": None, "launcher_inside": True}, "has launcher_inside, but no image"),
        ({"ranks": 2, "launcher": ["no-such-mpiexec"]}, "has the launcher no-such-mpiexec, which is not on PATH"),
        ({"image": None, "options": ["--nv"]}, "has options of a container runtime, but no image"),
        ({"threads": "two"}, "threads: 'two' is not of type 'integer'"),
        ({"program": None}, "'program' is a required property"),
        ({"nodes": 2}, "'nodes' was unexpected"),
        ({"environment": {"A": 1}}, "environment.A: 1 is not of type 'string'"),
    ],
)
def test_a_job_that_cannot_be_started_is_refused(tmp_path: Path, changes: dict[str, object], complaint: str) -> None:
    with pytest.raises(Complaint, match=re.escape(complaint)):
        read_job(job_in(tmp_path, **changes)).check().check_launcher()


def test_an_image_is_found_from_any_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Managers start tasks in directories of their own."""
    (tmp_path / "img.sif").touch()
    monkeypatch.chdir(tmp_path)
    assert Job("app", PYTHON, image="img.sif").check().words()[2] == str(tmp_path / "img.sif")
    assert Job("app", PYTHON, image="docker://py").check().words()[2] == "docker://py"


def test_an_unknown_profile_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def values(profile: str) -> None:
        raise Complaint(f"there is no profile {profile}")

    monkeypatch.setattr(planner, "values", values)
    with pytest.raises(Complaint, match="there is no profile none"):
        read_job(job_in(tmp_path, profile="none")).check()


def test_a_text_is_not_taken_for_words() -> None:
    with pytest.raises(Complaint, match="has a text as launcher; give a tuple of words"):
        Job("app", PYTHON, launcher="mpiexec").check()  # type: ignore[arg-type]


def test_whole_numbers_may_be_written_with_a_point(tmp_path: Path) -> None:
    assert "4" in read_job(job_in(tmp_path, ranks=4.0)).words()


def test_snakemake_leaves_braces_alone() -> None:
    text = shown_for("snakemake", Job("app", ("python3", "a.py", "{output}"), image="i"))
    assert "{{output}}" in text


@pytest.mark.parametrize("text", ["program: [", "\x80", "- a"])
def test_a_file_that_describes_no_job_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "job.yaml"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(Complaint, match=re.escape(str(file))):
        read_job(file)


@pytest.mark.parametrize("manager", MANAGERS)
@pytest.mark.parametrize("ranks", [1, 4])
def test_what_each_manager_is_given_can_be_shown_without_the_manager(manager: str, ranks: int) -> None:
    text = shown_for(manager, Job("app", PYTHON, image="/img.sif", ranks=ranks, profile="site", threads=2))
    assert "/img.sif" in text and "site" in text and "OMP_NUM_THREADS" in text


def test_the_documentation_has_the_fields_of_the_schema() -> None:
    properties = json.loads(SCHEMA.read_text())["properties"]
    rows = [f"| `{name}` | {field['description']} |" for name, field in sorted(properties.items())]
    assert "\n".join(rows) in PAGE.read_text()
    assert sorted(properties) == sorted(Job.__dataclass_fields__)


@pytest.mark.parametrize("story", stories(), ids=lambda story: story.heading)
def test_what_is_to_be_pasted_stands_in_an_example(story: Story) -> None:
    examples = [flush(file.read_text()) for file in EXAMPLES.iterdir()]
    assert [text for text in story.pasted if not any(flush(text) in example for example in examples)] == []


@pytest.mark.parametrize("example", sorted(EXAMPLES.iterdir()), ids=lambda file: file.name)
def test_an_example_is_run_by_a_command_of_the_documentation(example: Path) -> None:
    users = [story.script for story in stories()]
    users += [file.read_text() for file in EXAMPLES.iterdir() if file != example]
    assert any(example.name in text or f"from {example.stem} import" in text for text in users)


@pytest.mark.parametrize("story", stories(), ids=lambda story: story.heading)
def test_a_manager_takes_one_screen(story: Story) -> None:
    assert story.length <= SCREEN


def flush(text: str) -> str:
    """A part may stand further in than on the page."""
    return re.sub("^ +", "", text, flags=re.MULTILINE)


def test_the_documentations_job_is_read(tmp_path: Path) -> None:
    file = shutil.copy(EXAMPLES / "app.yaml", tmp_path)
    words = ("python3", "simulation.py", "2000")
    assert read_job(Path(file)) == Job("parallel", words, image="img.sif", ranks=4, profile="mpich")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"name: caf\xe9\n", "is no YAML"),
        (b'name: "a\\ud800"\nprogram: [python3]\n', "has half a character"),
        (b'name: app\nprogram: [python3, "\\udc80"]\n', "has half a character"),
        (b'name: app\nprogram: [python3]\nenvironment: {A: "\\udfff"}\n', "has half a character"),
        (b"[" * 20000, "is nested too deeply"),
    ],
)
def test_what_is_no_text_is_said_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, reason: str
) -> None:
    file = tmp_path / "job.yaml"
    file.write_bytes(content)
    assert main(["workflow", "show", "shell", str(file)]) == 1
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1
    assert captured.err.startswith(f"mpiimport: {file} ") and reason in captured.err


@pytest.mark.parametrize(
    ("make", "module", "extra"),
    [
        (parsl.bash_app, "parsl", "parsl"),
        (psij.job_spec, "psij", "psij"),
        (ipyparallel.engines, "traitlets", "ipyparallel"),
        (lambda job: balsam.application(job, 1, "serial"), "balsam", "balsam"),
    ],
)
def test_a_manager_that_is_not_installed_is_named_with_what_brings_it(
    monkeypatch: pytest.MonkeyPatch, make: Callable[[Job], object], module: str, extra: str
) -> None:
    for loaded in [name for name in sys.modules if name.split(".")[0] == module]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setattr(sys, "path", [str(ROOT)])
    monkeypatch.setattr(sys, "path_importer_cache", {})
    with pytest.raises(Complaint) as caught:
        make(Job(name="app", program=(sys.executable, "app.py")))
    assert str(caught.value) == f"this Python has no {module}; pip install 'mpiimport[{extra}]'"
