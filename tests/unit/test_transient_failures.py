"""A container's start that fails on a node's whim is told from a program that fails."""

from pathlib import Path

import pytest

from mpiimport.workflows.transient import TAIL, passing_failure, tail, was_interrupted

# As Apptainer 1.4.5 printed them.
MOUNT = (
    "FATAL:   container creation failed: image driver mount failure: image driver squashfuse_ll instance exited with"
)


@pytest.mark.parametrize(
    ("line", "meaning"),
    [
        (
            "\x1b[31mFATAL:  \x1b[0m Couldn't determine user account information: user: unknown userid 54321",
            "the node could not ask the user database",
        ),
        (
            "FATAL:   while loading overlay images: failed to open overlay image over.img: while locking ext3 "
            "partition from over.img: can't open over.img for reading, currently in use for writing by another process",
            "the image was busy",
        ),
        (
            "FATAL:   container creation failed: mount hook function failure: no loop devices available",
            "the node had no",
        ),
        (
            f"{MOUNT} with error: squashfuse_ll exited: fuse: failed to open /dev/fuse: Permission denied",
            "the node refused a FUSE mount",
        ),
    ],
)
def test_a_start_that_failed_on_a_nodes_whim_is_known(line: str, meaning: str) -> None:
    assert passing_failure(f"mpiexec starts\n{line}\nmpiexec ends\n").startswith(meaning)


@pytest.mark.parametrize(
    "output",
    [
        "",
        "app.py: user: unknown userid\n",
        "OSError: [Errno 26] Text file busy: 'a'\n",
        "FATAL:   could not open image /no.sif: failed to retrieve path for /no.sif: lstat /no.sif: no such file\n",
        "ModuleNotFoundError: No module named 'fusermount'\n",
    ],
)
def test_another_failure_is_a_real_one(output: str) -> None:
    assert passing_failure(output) == ""


@pytest.mark.parametrize(
    "line",
    [
        "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Terminated (signal 15)",
        "mpirun noticed that process rank 1 with PID 9 on node a exited on signal 15 (Terminated).",
    ],
)
def test_ranks_that_were_told_to_end_are_no_failure_of_the_start(line: str) -> None:
    assert was_interrupted(f"a\n{line}\nb")
    assert not was_interrupted(line.replace("15", "9"))
    assert passing_failure(line) == ""


def test_of_a_long_output_the_end_is_read(tmp_path: Path) -> None:
    file = tmp_path / "job.out"
    file.write_bytes(b"\xff" * TAIL + b"end\n")
    assert tail(file).endswith("end\n")
    assert len(tail(file)) == TAIL
    assert tail(tmp_path / "none") == ""
