"""A tree that changes while a session keeps images of it: no process has a part from before and one from after."""

import compileall
import os
import shutil
from pathlib import Path

import pytest

from lab.ranks import Mpi, run
from mpiimport.runtime.store.kept_store import uses
from tests.conftest import settle

from .conftest import Warm
from .session import TRUSTED, Session

TEXT = "import pack.core\ndef main():\n    import pack.late\n    print(pack.core.VALUE, pack.late.VALUE)\nmain()"


class Tree(Session):
    """``pack`` has one version at a time."""

    def change(self, value: str) -> None:
        package = self.warm.modules / "pack"
        package.mkdir(exist_ok=True)
        for name in ("__init__", "core", "late"):
            (package / f"{name}.py").write_text(f"VALUE = {value!r}\n")
        # Else the maker writes bytecode behind the store, which changes the directory.
        compileall.compile_dir(package, quiet=1)
        settle(self.warm.modules, package, *package.iterdir())


@pytest.fixture
def tree(warm: Warm, prefix: Path, tmp_path: Path) -> Tree:
    tree = Tree(prefix, warm, tmp_path)
    warm.install()
    tree.change("one")
    return tree


def test_the_start_of_any_session_forgets_images_that_are_no_longer_true(tree: Tree) -> None:
    script, other = tree.warm.script(TEXT), tree.warm.script(TEXT, "other.py")
    tree.begin(script)
    assert tree.start_warm(script).stdout == "one one\n"
    tree.change("another")
    assert "has changed since" in tree.call("status").stdout
    tree.begin(other)
    assert tree.start(script).stdout == "another another\n"
    assert tree.start(other).stdout == "another another\n"


def test_an_image_goes_with_the_store_beside_which_it_was_made(tree: Tree) -> None:
    script = tree.warm.script(TEXT)
    tree.begin(script)
    tree.change("another")
    command = [word for word in tree.command(script) if word != "--warm"]
    assert run(command, tree.environment(), 120, tree.directory).status == 0
    assert tree.start(script).stdout == "another another\n"
    assert not tree.images()


def test_refresh_makes_images_anew(tree: Tree) -> None:
    script = tree.warm.script(TEXT)
    tree.begin(script)
    tree.change("another")
    refreshed = tree.call("refresh", PYTHONPATH=str(tree.warm.modules))
    assert refreshed.status == 0 and "has changed" in refreshed.stdout, refreshed
    assert tree.start_warm(script).stdout == "another another\n"


def test_a_launch_that_has_looked_uses_no_stale_image(tree: Tree, mpich: Mpi) -> None:
    """`mpiimport run` names the change in one line."""
    script = tree.warm.script(TEXT)
    tree.begin(script, *mpich.command(1))
    command = [str(Path(tree.door).with_name("mpiimport")), "run", "--", *mpich.command(2), tree.door, script]
    environment = tree.environment(**TRUSTED)
    warm = run(command, environment, 120, tree.directory)
    assert (warm.lines(), warm.stderr) == (["one one"] * 2, "mpiimport: from a snapshot\n")
    assert uses(str(tree.images()[0].parent)) == 2, "the image was used"
    tree.change("another")
    outcome = run(command, environment, 120, tree.directory)
    assert outcome.lines() == ["another another"] * 2
    assert outcome.stderr.count("has changed since the store of") == 1
    assert "the snapshot is not used: the tree has changed" in outcome.stderr


def test_a_process_with_modules_of_before_and_of_now_says_so(tree: Tree) -> None:
    """What nothing foresees is not in the store of a session, and comes from the tree."""
    late = "import pack.core\nimport importlib\nprint(end='')\nlate = importlib.import_module('pack.' + 'late')"
    script = tree.warm.script(f"{late}\nprint(pack.core.VALUE, late.VALUE)")
    tree.begin(script)
    assert tree.start_warm(script).stdout == "one one\n"
    tree.change("another")
    for warm in ("1", "0"):
        outcome = tree.start(script, MPIIMPORT_WARM=warm)
        assert outcome.stdout == "one another\n"
        assert outcome.stderr.count("has changed since its store was filled") == 1, outcome
        assert "late.py" in outcome.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can have another view of the file system")
def test_what_an_earlier_task_has_begun_is_no_part_of_a_session(tree: Tree, tmp_path: Path) -> None:
    """The process that a task has left behind sees what was mounted then."""
    script = tree.warm.script(TEXT)
    shutil.copytree(tree.warm.modules / "pack", tmp_path / "old")
    tree.change("another")
    settle(*(tmp_path / "old").rglob("*"))
    mounted = ("unshare", "-m", "sh", "-c", f'mount --bind {tmp_path}/old {tree.warm.modules}/pack && exec "$@"', "sh")
    assert tree.start(script, before=mounted, MPIIMPORT_KEEP="auto").stdout == "one one\n"
    tree.begin(script)
    assert tree.start_warm(script).stdout == "another another\n"
    assert tree.start(script, MPIIMPORT_WARM="0").stdout == "another another\n"
