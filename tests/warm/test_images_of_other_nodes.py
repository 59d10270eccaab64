"""A node believes an image that another one has made where that could have been made here."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import settle

from .conftest import Warm
from .session import Session

LOOK = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from mpiimport.snapshot.fitting import why_not_here
print(why_not_here(Path(sys.argv[2]), sys.argv[3:]))
"""


@pytest.fixture
def kept(warm: Warm, prefix: Path, tmp_path: Path) -> "Kept":
    return Kept(Session(prefix, warm, tmp_path), warm, prefix)


class Kept:
    """The image of a program that imports a module of the user's, which lies on a disk of this node."""

    def __init__(self, session: Session, warm: Warm, prefix: Path) -> None:
        warm.install()
        self.module = warm.modules / "of_mine.py"
        self.module.write_text("value = 1\n")
        self.script = warm.script("import json, of_mine\nprint(of_mine.value)")
        self.environment = session.environment(MPIIMPORT_WARM="1")
        self._python = warm.python
        self._package = str(prefix / "lib")
        session.begin(self.script)
        (image,) = session.images()
        self.image = image

    def look(self, *before: str, **changes: str) -> str:
        command = [*before, self._python, "-c", LOOK, self._package, str(self.image.parent), self.script]
        looked = subprocess.run(
            command, env={**self.environment, **changes}, capture_output=True, text=True, timeout=60
        )
        assert looked.returncode == 0, looked
        return looked.stdout.strip()


def test_it_fits_the_node_that_has_made_it(kept: Kept) -> None:
    assert kept.look() == ""


def test_another_file_on_a_disk_of_this_node_is_seen(kept: Kept) -> None:
    kept.module.write_text("value = 22\n")
    settle(kept.module)
    assert kept.look() == f"{kept.module} is another"


def test_a_copy_of_the_same_time_is_as_good(kept: Kept) -> None:
    directory = kept.module.parent
    directory.rename(directory.with_name("before"))
    subprocess.run(["cp", "-a", directory.with_name("before"), directory], check=True)
    assert kept.look() == ""


def test_a_file_that_was_looked_for_in_vain_is_seen(kept: Kept) -> None:
    (kept.module.parent / "of_mine").mkdir()
    (kept.module.parent / "of_mine" / "__init__.py").touch()
    assert "is another" in kept.look()


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two processors")
def test_another_number_of_processors_is_seen(kept: Kept) -> None:
    assert "processors" in kept.look("taskset", "-c", str(min(os.sched_getaffinity(0))))


def test_another_value_of_a_variable_is_seen(kept: Kept) -> None:
    assert "LD_*" in kept.look(LD_LIBRARY_PATH="/nowhere")


def test_damage_is_seen(kept: Kept) -> None:
    with kept.image.open("r+b") as stream:
        stream.seek(300)
        stream.write(b"x")
    assert "damaged" in kept.look()
