"""Warm images in containers that are no ranks: a task starts from what a session has made of the same image."""

import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.filesystem import FILE_SYSTEM_TYPE, Operation, SharedFileSystem
from lab.processes import running
from lab.ranks import Mpi, Outcome, run
from mpiimport.runtime.startup.left_behind import NICE
from tests.conftest import provision, settle, wait_for
from tests.containers.cells import Cell, Site
from tests.containers.test_kept_stores_in_containers import PACKAGES, SECONDS, Tasks, put_module, tasks_of
from tests.containers.test_warm_images_in_containers import TEXT

# What the text prints of numpy.
PART = (
    ("import numpy,", "import json, part,"),
    ("numpy.arange(4).sum()", "part.value"),
    ("numpy.random.rand()", "random.random()"),
)
TRUSTED = {"MPIIMPORT_WARM": "1", "MPIIMPORT_KEEP": "session"}
LOOKING = {"MPIIMPORT_WARM": "1", "MPIIMPORT_KEEP": "auto"}


class WarmTasks:
    """Tasks that their identity starts by command lines."""

    def __init__(self, tasks: Tasks, image: Path) -> None:
        self.tasks = tasks
        self.image = image
        self._bin = tasks.site.prefix / "bin"

    def line(self, *program: str, options: tuple[str, ...] = ()) -> list[str]:
        """What starts a program in a container: by default the script with an argument."""
        shim = str(self.tasks.site.prefix / "shim" / "apptainer")
        words = program or ("python3", str(self.tasks.script), "a")
        return [shim, "exec", "--mpiimport", *options, str(self.image), *words]

    def run(self, line: list[str], **variables: str) -> Outcome:
        tasks = self.tasks
        cell = Cell("shim", "sandbox", tasks.identity, "hybrid", "mpich")
        environment = tasks.site.environment(cell, tasks.mpi, MPIIMPORT_STORE=str(tasks.store), **variables)
        kept = {name: value for name, value in environment.items() if value}
        return run(tasks.site.as_identity(tasks.identity, line), kept, SECONDS, tasks.script.parent)

    def tool(self, *words: str, **variables: str) -> Outcome:
        return self.run([str(self._bin / "mpiimport"), *words], **variables)

    def begin(self, *program: str, options: tuple[str, ...] = ()) -> str:
        """Begin a session; return what was said."""
        begun = self.tool("session", "start", "--warm", "--", *self.line(*program, options=options))
        assert (begun.status, begun.stdout) == (0, ""), begun
        return begun.stderr

    def write(self, text: str, name: str = "task.py") -> Path:
        path = self.tasks.script.with_name(name)
        path.write_text(text)
        settle(path)
        return path


@pytest.fixture
def warm(site: Site, mpich: Mpi) -> Iterator[WarmTasks]:
    with tasks_of(site, mpich, "root", "numpy") as tasks:
        made = WarmTasks(tasks, site.image("sandbox")[1])
        made.write(TEXT)
        yield made


@pytest.mark.parametrize(
    ("identity", "tree"),
    [
        ("root", "sandbox"),
        ("user", "sif"),
        pytest.param("root", "sif", marks=pytest.mark.full),
        pytest.param("user", "sandbox", marks=pytest.mark.full),
    ],
)
def test_tasks_start_warm(site: Site, mpich: Mpi, identity: str, tree: str) -> None:
    with tasks_of(site, mpich, identity, "numpy") as tasks:
        warm = WarmTasks(tasks, site.image(tree)[1])
        script = warm.write(TEXT)
        assert f"a snapshot of script {script} is kept" in warm.begin()
        started = [warm.run(warm.line(), **TRUSTED) for _ in range(2)]
        plain = warm.run(warm.line(), MPIIMPORT="0")
        words = [outcome.stdout.split() for outcome in (*started, plain)]
        assert [(outcome.status, outcome.stderr) for outcome in started] == [(plain.status, plain.stderr)] * 2
        assert [first for first, *_ in words] == ["warm", "warm", "fresh"]
        assert [some[1:3] for some in words] == [["6", "['a']"]] * 3
        assert len({number for some in words for number in some[3:]}) == 6
        assert warm.tool("session", "stop").status == 0
        assert list(tasks.store.iterdir()) == []


@pytest.fixture
def own_image(warm: WarmTasks) -> Path:
    """A small image whose files a test may change. Its package ``part`` is the one module that the script imports."""
    image = warm.tasks.script.with_name("image")
    subprocess.run(["cp", "-a", "--reflink=auto", warm.tasks.site.images / "base", image], check=True)
    warm.image = image
    put_module(image, "old")
    text = TEXT
    for of_numpy, instead in PART:
        text = text.replace(of_numpy, instead)
    warm.write(text)
    return image


@pytest.mark.full
def test_what_has_changed_in_a_sandbox(warm: WarmTasks, own_image: Path) -> None:
    """Each task looks at the tree, which each container mounts anew, where no session vouches for it."""
    warm.begin()
    assert warm.run(warm.line(), **LOOKING).stdout.split()[:2] == ["warm", "old"]
    module = own_image / PACKAGES / "part.py"
    before = module.stat()
    module.write_text("value = 'new'\n")
    os.utime(module, ns=(before.st_atime_ns, before.st_mtime_ns))
    trusting = warm.run(warm.line(), **TRUSTED)
    assert (trusting.stdout.split()[:2], trusting.stderr) == (["warm", "old"], "")
    outcome = warm.run(warm.line(), **LOOKING)
    assert outcome.stdout.split()[:2] == ["fresh", "new"], outcome
    (said,) = outcome.ours()
    assert f"this has changed since, or cannot be opened: /{PACKAGES}/part.py" in said


@pytest.mark.full
def test_what_is_mounted_over_the_tree_is_not_taken_for_it(warm: WarmTasks, own_image: Path) -> None:
    warm.begin()
    other = warm.tasks.script.with_name("other")
    other.mkdir()
    (other / "part.py").write_text("value = 'other'\n")
    settle(other / "part.py")
    bind = ("--bind", f"{other / 'part.py'}:/{PACKAGES}/part.py")
    assert warm.run(warm.line(options=bind), **LOOKING).stdout.split()[:2] == ["fresh", "other"]
    warm.begin(options=bind)
    assert warm.run(warm.line(options=bind), **LOOKING).stdout.split()[:2] == ["warm", "other"]
    (other / "part.py").write_text("value = 'third'\n")
    assert warm.run(warm.line(options=bind), **LOOKING).stdout.split()[:2] == ["fresh", "third"]
    assert warm.run(warm.line(), **LOOKING).stdout.split()[:2] == ["warm", "old"]


@pytest.mark.full
@pytest.mark.parametrize("option", ["--pid", "--cleanenv"])
def test_options_of_the_runtime(warm: WarmTasks, option: str) -> None:
    """There the entry stands in front of the command."""
    warm.begin(options=(option,))
    outcome = warm.run(warm.line(options=(option,)), **TRUSTED)
    assert (outcome.stdout.split()[0], outcome.stderr) == ("warm", ""), outcome


@pytest.mark.full
def test_a_module_in_a_container(warm: WarmTasks) -> None:
    warm.write(TEXT + "print(__spec__.name, sys.orig_argv)", "work.py")
    assert "a snapshot of module work is kept" in warm.begin("python3", "-m", "work")
    line = warm.line("python3", "-m", "work", "a")
    started, plain = warm.run(line, **TRUSTED), warm.run(line, MPIIMPORT="0")
    assert started.stdout.split()[:3] == ["warm", "6", "['a']"], started
    assert (started.lines()[-1], started.stderr) == (plain.lines()[-1], "")


def test_what_has_no_image_starts_fresh_with_one_line(site: Site, warm: WarmTasks) -> None:
    warm.begin()
    for program, why in {
        ("python3", str(warm.write("import json\n" + TEXT, "other.py"))): "none is kept for this program",
        ("python3", "-m", "task"): "none is kept for this program",
        ("python3", "-u", str(warm.tasks.script)): "none is kept for this program",
    }.items():
        outcome = warm.run(warm.line(*program), **TRUSTED)
        assert outcome.stdout.split()[0] == "fresh"
        ours = [line for line in outcome.ours() if "warm" in line]
        assert len(ours) == 1 and why in ours[0], outcome
    outcome = warm.run(warm.line("python3", "-c", TEXT), **TRUSTED)
    assert outcome.stdout.split()[0] == "fresh" and "start scripts and modules (-m)" in outcome.stderr, outcome
    warm.write("import json\n" + TEXT)
    outcome = warm.run(warm.line(), **TRUSTED)
    assert outcome.stdout.split()[0] == "fresh" and "begins with other statements" in outcome.stderr, outcome
    warm.write(TEXT)
    assert warm.run(warm.line(), **TRUSTED).stdout.split()[0] == "warm"
    warm.image = site.image("sif")[1]
    outcome = warm.run(warm.line(), **TRUSTED)
    assert outcome.stdout.split()[0] == "fresh" and "none is kept for this program" in outcome.stderr, outcome


@pytest.mark.full
def test_the_first_task_of_a_session_has_the_image_made(warm: WarmTasks) -> None:
    until = f"until ls {warm.tasks.store}/*/programs/warm-*/image >/dev/null 2>&1; do sleep 0.1; done"
    task = shlex.join(warm.line())
    outcome = warm.tool("run", "--session", "--", "sh", "-c", f"{task}; {until}; {task}", MPIIMPORT_WARM="1")
    assert [line.split()[0] for line in outcome.stdout.splitlines()] == ["fresh", "warm"], outcome
    assert outcome.stderr == ""
    wait_for(lambda: not any(warm.tasks.store.iterdir()), SECONDS)


def test_what_makes_an_image_for_later_tasks_gives_way_to_them(site: Site, mpich: Mpi) -> None:
    with tasks_of(site, mpich, "root", "numpy") as tasks:
        warm = WarmTasks(tasks, site.image("sif")[1])
        warm.write(TEXT)
        assert warm.run(warm.line(), **LOOKING).stdout.split()[0] == "fresh"

        def makers() -> list[int]:
            found = running(lambda directory: directory == tasks.script.parent)
            return [process for process, command in found if "snapshot/publishing.py" in command]

        wait_for(makers, SECONDS)
        assert os.getpriority(os.PRIO_PROCESS, makers()[0]) == NICE
        warm.tool("session", "stop")
        wait_for(lambda: not makers(), SECONDS)
        assert warm.tool("session", "stop").status == 0


def test_of_a_sandbox_that_is_shared_a_task_asks_for_no_python(site: Site, mpich: Mpi, tmp_path: Path) -> None:
    provision("lab.sh")
    with (
        tasks_of(site, mpich, "root", "numpy") as tasks,
        SharedFileSystem(record=tmp_path / "record") as shared,
    ):
        place = tasks.script.parent / "images"
        place.mkdir()
        shared.mount("node", site.images, place)
        warm = WarmTasks(tasks, place / site.image("sandbox")[1].name)
        # NumPy imports that when it is used.
        warm.write(TEXT.replace("import numpy,", "import numpy, numpy.random,"))
        trusted = {"MPIIMPORT_KEEP_ON": FILE_SYSTEM_TYPE}

        def asked(expected: str, **variables: str) -> list[Operation]:
            seen = len(shared.operations())
            outcome = warm.run(warm.line(), **trusted, **variables)
            assert outcome.stdout.split()[:2] == [expected, "6"], outcome
            wait_for(lambda: shared.load().total.opens == shared.load().total.closes, SECONDS)
            return shared.operations()[seen:]

        begun = warm.tool("session", "start", "--warm", "--", *warm.line(), **trusted)
        assert begun.status == 0, begun
        asked("fresh", MPIIMPORT="0")
        plain = asked("fresh", MPIIMPORT="0")
        # With other variables than the image it imports from the store.
        kept = asked("fresh", **TRUSTED, OMP_NUM_THREADS="1")
        started = asked("warm", **TRUSTED)
    of_python = [[one for one in each if "python3" in one.path] for each in (plain, kept, started)]
    assert not of_python[2], of_python[2]
    assert len(started) < len(kept) < len(plain)
