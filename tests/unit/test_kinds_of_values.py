"""Variation runs compare every kind of value that a module may keep."""

import os
import sys
from functools import partial
from pathlib import Path

import pytest

from lab.ranks import clean_environment
from mpiimport.snapshot.audit.comparison import Differences, compare
from mpiimport.snapshot.text.program_text import ProgramText
from mpiimport.snapshot.trials import Trials
from tests.texts import read

# CHOSEN is FIRST, and NUMBER is 1, but for another rank.
BEGIN = """
import os
class Named:
    def __init__(self, name): self.name = name
FIRST, SECOND = Named('first'), Named('second')
NUMBER = 1 if os.environ.get('SLURM_PROCID', '0') == '0' else 3
CHOSEN = FIRST if NUMBER == 1 else SECOND
"""
END = "\ndel NUMBER, CHOSEN"
KEPT = read(Path(__file__).with_name("programs") / "kinds_of_values.txt")


ALIKE = (
    "import itertools, weakref\nIT = [Named(1), weakref.ref(FIRST), iter('ab'), {1: {2}}, itertools.count(), id(FIRST)]"
)


@pytest.fixture(scope="module")
def differences(tmp_path_factory: pytest.TempPathFactory) -> Differences:
    """How variation runs of a program differ that imports a module of each kind, ``kind_NUMBER``, and ``alike``."""
    directory: Path = tmp_path_factory.mktemp("program")
    names = [f"kind_{number}" for number in range(len(KEPT))]
    for name, text in zip(["alike", *names], [ALIKE, *map(str, KEPT.values())], strict=True):
        (directory / f"{name}.py").write_text(BEGIN + text + END)
    (directory / "app.py").write_text(f"import alike, {', '.join(names)}")
    program = ProgramText.read([sys.executable], [str(directory / "app.py")], directory)
    environment = {**clean_environment(), "PYTHONHASHSEED": "0"}
    trials = Trials([sys.executable], directory, environment)
    processors = sorted(os.sched_getaffinity(0))[:1]
    return compare(partial(trials.begin, program.full().begin), processors, environment, "/")


@pytest.mark.parametrize("name", KEPT)
def test_every_kind_of_value_is_compared(differences: Differences, name: str) -> None:
    assert not differences.failure
    module = f"kind_{[*KEPT].index(name)}"
    assert [path for path in differences.own if path.startswith(f"{module}:")]


def test_what_is_the_same_does_not_differ(differences: Differences) -> None:
    assert not [path for path in differences.own if path.startswith("alike:")]
