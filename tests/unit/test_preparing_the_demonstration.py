"""What the demonstration needs is made in the background, and stands still while others are measured."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.demonstrations import preparing
from lab.provisioning import Unavailable

Script = Callable[[str], preparing.Part]


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Script:
    """A part that is made by a shell script of this text."""
    monkeypatch.setattr(preparing, "SCRIPTS", tmp_path)

    def part(text: str) -> preparing.Part:
        file = tmp_path / f"{abs(hash(text))}.sh"
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)
        return preparing.Part("something", (file.name,), 1)

    return part


def state(pid: int) -> str:
    """The state of a process, as proc(5) has it."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def read_pid(file: Path) -> int:
    """The number that a script writes of itself, once it has."""
    while not (file.exists() and file.read_text().endswith("\n")):
        pass
    return int(file.read_text())


def test_a_part_stands_still_while_it_is_held_and_is_gone_when_it_is_given_up(script: Script, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    with preparing.begun(script(f"echo $$ >{pid_file}; while :; do :; done"), niceness=1) as preparation:
        pid = read_pid(pid_file)
        with preparation.held():
            while state(pid) != "T":
                pass
            before = Path(f"/proc/{pid}/schedstat").read_text()
            assert Path(f"/proc/{pid}/schedstat").read_text() == before
        while state(pid) == "T":
            pass
    assert not Path(f"/proc/{pid}").exists()


def test_all_parts_come_to_their_end_before_the_first_failure_is_told(script: Script, tmp_path: Path) -> None:
    made = tmp_path / "made"
    with (
        preparing.begun(script("echo no network >&2; exit 1")) as failing,
        preparing.begun(script(f"touch {made}")) as other,
        pytest.raises(Unavailable, match="no network"),
    ):
        preparing.finish(Console(file=io.StringIO()), failing, other)
    assert made.exists()
