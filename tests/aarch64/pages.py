"""A snapshot is for pages of one size. One machine of `make test-aarch64` leaves one, which the next one finds."""

from pathlib import Path

from tests.snapshots.conftest import NOT_USED, Baked

LEFT = Path("/left")
TEXT = "import json\nprint(json.dumps([1]))"


def test_a_snapshot_is_left(prefix: Path) -> None:
    LEFT.mkdir()
    baked = Baked(prefix, LEFT)
    baked.bake(baked.script(TEXT))


def test_what_pages_of_another_size_have_left_is_refused(prefix: Path) -> None:
    outcome = Baked(prefix, LEFT).start(str(LEFT / "program" / "app.py"))
    line = f"{NOT_USED}it was made with pages of another size"
    assert (outcome.status, outcome.stdout, outcome.stderr.splitlines()) == (0, "[1]\n", [line]), outcome
