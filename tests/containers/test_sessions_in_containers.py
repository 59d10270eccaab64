"""What a session keeps of containers is looked at in them: by `mpiimport session status` and `refresh`."""

import py_compile
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome
from tests.conftest import install_in, settle
from tests.containers.cells import Site
from tests.containers.test_cached_stores_in_containers import PACKAGES, Tasks, image_of, tasks_of


@dataclass(frozen=True)
class Tree:
    """Where the module ``part`` of a program lies. ``settle``: wait until what was written is at rest."""

    image: Path
    options: tuple[str, ...]
    variables: dict[str, str]
    seen_as: str
    write: Callable[[str], None]


def a_directory_of_pythonpath(tasks: Tasks) -> Tree:
    site = tasks.script.with_name("site")
    return Tree(tasks.site.image("sif")[1], (), {"APPTAINERENV_PYTHONPATH": str(site)}, str(site), writing(site))


def a_directory_by_another_name(tasks: Tasks) -> Tree:
    site = tasks.script.with_name("site")
    variables = {"APPTAINERENV_PYTHONPATH": "/other"}
    return Tree(tasks.site.image("sif")[1], ("-B", f"{site}:/other"), variables, "/other", writing(site))


def a_sandbox(tasks: Tasks) -> Tree:
    image = tasks.script.with_name("image")
    subprocess.run(["cp", "-a", "--reflink=auto", tasks.site.images / "base", image], check=True)
    return Tree(image, (), {}, f"/{PACKAGES}", writing(image / PACKAGES))


def a_bound_image(tasks: Tasks) -> Tree:
    """A virtual environment in a file of its own, say, which is put in the place of an older one."""
    site, file = tasks.script.with_name("site"), tasks.script.with_name("v.sqsh")

    def write(value: str) -> None:
        writing(site)(value)
        image_of(site, file.with_name("new.sqsh")).rename(file)

    variables = {"APPTAINERENV_PYTHONPATH": "/uv"}
    return Tree(tasks.site.image("sif")[1], ("-B", f"{file}:/uv:image-src=/"), variables, "/uv", write)


def writing(directory: Path) -> Callable[[str], None]:
    def write(value: str) -> None:
        install_in(directory)
        (directory / "part.py").write_text(f"value = {value!r}\n")
        # Whatever imports it first would write that.
        py_compile.compile(str(directory / "part.py"))
        settle(directory, directory / "part.py", directory / "__pycache__")

    return write


TREES = {tree.__name__: tree for tree in (a_directory_of_pythonpath, a_directory_by_another_name, a_sandbox)}


class Session:
    """A session of tasks in containers, whose command is the tasks' own."""

    def __init__(self, tasks: Tasks, tree: Tree) -> None:
        self.tasks = tasks
        self.tree = tree
        start = [tasks.site.apptainer(), "exec", "--mpiimport", *tree.options, str(tree.image)]
        self.line = [*start, "python3", str(tasks.script)]

    def run(self, *line: str, **variables: str) -> Outcome:
        tasks = self.tasks
        words = {"MPIIMPORT_STORE": str(tasks.store), **self.tree.variables, **variables}
        return tasks.site.run(line, tasks.mpi, tasks.identity, directory=tasks.script.parent, **words)

    def task(self, **variables: str) -> list[str]:
        return self.run(*self.line, **{"MPIIMPORT_CACHE": "session", **variables}).lines()

    def tool(self, *words: str) -> Outcome:
        return self.run(self.tasks.site.tool, "session", *words)

    def start(self) -> None:
        begun = self.tool("start", "--", *self.line)
        assert begun.status == 0, begun


@pytest.mark.parametrize(
    ("tree", "identity"),
    [(name, "root") for name in TREES] + [pytest.param("a_directory_by_another_name", "user", marks=pytest.mark.full)],
)
def test_what_has_changed_is_seen_and_filled_anew(site: Site, mpich: Mpi, tree: str, identity: str) -> None:
    with tasks_of(site, mpich, identity, "part") as tasks:
        made = TREES[tree](tasks)
        made.write("one")
        session = Session(tasks, made)
        session.start()
        assert session.tool("status").stdout.endswith(", no process so far\n")
        made.write("two")
        assert session.tool("status").stdout.endswith(f"; {made.seen_as}/part.py has changed since\n")
        assert session.task() == ["kept one no MPI"]
        refreshed = session.tool("refresh")
        assert refreshed.status == 0 and "has changed since" in refreshed.stdout, refreshed
        assert session.task() == ["kept two no MPI"]


def an_image_file(tasks: Tasks) -> Tree:
    sandbox, file = a_sandbox(tasks), tasks.script.with_name("image.sqsh")

    def write(value: str) -> None:
        sandbox.write(value)
        image_of(sandbox.image, file.with_name("new.sqsh")).rename(file)

    return Tree(file, (), {}, "", write)


@pytest.mark.parametrize(
    ("tree", "identity"),
    [
        (an_image_file, "root"),
        (a_bound_image, "user"),
        pytest.param(a_bound_image, "root", marks=pytest.mark.full),
    ],
)
def test_an_image_in_the_place_of_another_is_kept_anew(
    site: Site, mpich: Mpi, tree: Callable[[Tasks], Tree], identity: str
) -> None:
    """The command of the session starts another container by now."""
    with tasks_of(site, mpich, identity, "part") as tasks:
        made = tree(tasks)
        made.write("one")
        session = Session(tasks, made)
        session.start()
        assert session.tool("refresh").stdout == "the tree is as the stores say\n"
        assert session.task() == ["kept one no MPI"]
        assert session.task(MPIIMPORT_CACHE="auto") == ["kept one no MPI"]
        made.write("two")
        assert session.task() == ["plain two no MPI"]
        assert "not validated: the command of session start did not come to it" in session.tool("status").stdout
        assert session.tool("refresh").status == 0
        assert session.task() == ["kept two no MPI"]


@pytest.mark.parametrize("identity", ["user", pytest.param("root", marks=pytest.mark.full)])
def test_what_is_prepared_of_what_lies_in_a_bound_image(site: Site, mpich: Mpi, identity: str) -> None:
    """Each container mounts it anew, by another device."""
    with tasks_of(site, mpich, identity, "part") as tasks:
        made = a_bound_image(tasks)
        made.write("one")
        session = Session(tasks, made)
        library = {"MPIIMPORT_SNAPSHOTS": str(tasks.script.with_name("snapshots")), "MPIIMPORT_PREPARE": "never"}
        prepared = session.run(site.tool, "prepare", "--", *session.line, **library)
        assert prepared.status == 0, prepared
        for _ in range(2):
            started = session.run(*session.line, **library)
            assert (started.lines(), started.ours()) == (["plain one no MPI"], []), started
        made.write("two")
        other = session.run(*session.line, **library)
        assert (other.lines(), other.ours()) == (["plain two no MPI"], []), other


def test_a_script_that_its_user_may_not_write_is_served_in_its_directory(site: Site, mpich: Mpi) -> None:
    """As where a group installs a script for its users: what it imports from there is none of the user's own code."""
    with tasks_of(site, mpich, "user", "numpy") as tasks:
        shutil.chown(tasks.script.parent, "root")
        session = Session(tasks, Tree(site.image("sif")[1], (), {}, "", lambda _: None))
        session.start()
        assert session.task() == ["kept  no MPI"]
