"""Ranks believe the validation of a launch only if nothing can run between the launcher and their Python."""

import pytest

from mpiimport.host.commands.launch_line import words_of_ranks


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("mpirun -n 4 python app.py --size 3", "app.py --size 3"),
        ("mpiexec -n 4 -ppn 2 /opt/bin/python-mpi app.py", "app.py"),
        ("srun -n 4 python3.11 -m mpiimport app.py", "app.py"),
        ("srun -n 4 python3.14t app.py", "app.py"),
        # Hydra starts its own daemons by it, and no rank.
        ("mpiexec -launcher manual -launcher-exec /bin/sh -n 4 python app.py", "app.py"),
        ("mpirun -n 4 sh -c true python app.py", None),
        ("mpirun -n 4 env python app.py", None),
        ("mpirun -n 1 python app.py : -n 3 python other.py", None),
        ("mpirun -n 4 ./app.py", None),
        ("python app.py", None),
    ],
)
def test_only_a_python_that_the_launcher_itself_starts_believes_it(line: str, words: str | None) -> None:
    assert words_of_ranks(line.split()) == (words.split() if words is not None else None)
