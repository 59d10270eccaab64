"""What the log of an audit says of the module that asked."""

from pathlib import Path

import pytest

from mpiimport.snapshot.audit.causes import COUNTS, read
from mpiimport.snapshot.audit.observations import TIME
from mpiimport.snapshot.audit.observer import MARK

ACCESS, COARSE, ONLINE = "access -2 0 0 0 0", "clock_gettime 0 5 0 0 0", "openat 3 -100 0 0 0"


@pytest.mark.parametrize(
    ("calls", "asks"),
    [
        ([f"7 {COARSE} "], True),
        ([f"7 {ACCESS} {COUNTS}", f"7 {COARSE} "], False),
        ([f"7 {ACCESS} {COUNTS}", f"7 {COARSE} ", f"7 {COARSE} "], True),
        ([f"7 {ACCESS} {COUNTS}", f"7 {ONLINE} /sys/devices/system/cpu/online", f"7 {COARSE} "], True),
        ([f"8 {ACCESS} {COUNTS}", f"7 {COARSE} "], True),
    ],
)
def test_counting_processors_asks_for_no_time(tmp_path: Path, calls: list[str], asks: bool) -> None:
    log = tmp_path / "log"
    log.write_text(
        "".join(f"{line}\n" for line in [f"7 {ACCESS} {MARK}begin/counts", *calls, f"7 {ACCESS} {MARK}end/"])
    )
    assert (("counts", TIME) in read(log).asked) == asks


def test_a_log_that_was_cut_off_is_read_up_to_there(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(f"7 {ACCESS} {MARK}statement/1\n7 {ACCESS} {MARK}stat")
    assert read(log).statement == 1
    log.write_text(f"7 {ACCESS} {MARK}statement/1\n7 acc")
    assert read(log).statement == 1


def test_a_path_may_have_other_ends_of_lines(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(f"7 {ONLINE} /a\rb\x85c\n")
    assert read(log).opened == {"/a\rb\x85c"}
