"""Programs as people publish them come out from a snapshot as plainly, and it spares them their imports.

The table goes to build/published_scripts.txt; with PUBLISHED_SCRIPTS=write to docs/published-scripts.md, too.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab.ranks import Mpi
from tests.conftest import ROOT, but_everyday

from .published import (
    PROBE,
    PUBLISHED,
    RANKS,
    SCRIPTS,
    imported_after_the_restore,
    probed,
    published,
    share,
    unlike,
)

PAGE = ROOT / "docs" / "published-scripts.md"
WRITE = "PUBLISHED_SCRIPTS"
ENOUGH, LEAST = 0.9, 25
EVERYDAY = {"own_package", "run_module"}
BEGIN = """\
# What snapshots hold of published scripts
Each row is a program written like a published script. All are in `tests/snapshots/scripts`.
`tests/snapshots/test_published_scripts.py` runs each on two ranks of MPICH,
plainly and from its snapshot. Both runs print the same lines.
Plain Python needs some time for the imports (`-X importtime`).
The last column shows how much of this time the snapshot saves.
mpi4py does not count, because each process starts MPI itself.
If a row shows less than 90 %, the program needs many modules that are not in the snapshot.
Each process imports them after the cut.
`dedalus` and `fenics` read the rank during their import.
The other programs with less than 90 % call functions that import more modules.

"""


@dataclass(frozen=True)
class Row:
    """What all imports take plainly, in seconds; how much of it is in the snapshot; what ends that."""

    seconds: float
    share: float
    why: str


@pytest.fixture(scope="module")
def table() -> Iterator[dict[str, Row]]:
    """A row of each program; written down when all have run."""
    rows: dict[str, Row] = {}
    yield rows
    lines = [f"{name:22}{row.seconds:7.2f} s {row.share:6.1%}  {row.why}" for name, row in rows.items()]
    (ROOT / "build" / "published_scripts.txt").write_text("\n".join([*lines, ""]))
    if os.environ.get(WRITE) == "write" and len(rows) == len(PUBLISHED):
        PAGE.write_text(page(rows))


def page(rows: dict[str, Row]) -> str:
    lines = [f"| `{name}` | {row.seconds:.2f} s | {row.share:.0%} |" for name, row in rows.items()]
    return BEGIN + "\n".join(["| program | imports | in the snapshot |", "| --- | --- | --- |", *lines, ""])


@pytest.mark.parametrize("name", but_everyday(PUBLISHED, EVERYDAY))
def test_a_published_script_comes_out_as_plainly(
    prefix: Path, tmp_path: Path, mpich: Mpi, name: str, table: dict[str, Row]
) -> None:
    jobs = published(name, prefix, tmp_path, mpich)
    # What a package keeps for its next run is there for all that are compared.
    jobs.plain()
    plain = jobs.plain()
    assert plain.status == 0 and plain.streams["out.0"], plain
    times = jobs.times()
    # By all ranks, as is said of MKL and PyTorch: they go by how many a node has.
    baked = jobs.prepare(RANKS)
    # On a busy machine it may not come to its end: that says nothing of a share.
    assert baked.status is not None, baked
    started = jobs.start()
    assert unlike(plain, started) == []
    why = baked.stderr if baked.status else started.ours()
    new = imported_after_the_restore(jobs, name)
    assert new, "the program said nothing"
    table[name] = Row(sum(times.values()) / 1e6, share(times, new), " ".join(why.split()))


def test_snapshots_spare_most_published_scripts_their_imports(table: dict[str, Row]) -> None:
    assert table, "no program ran"
    print("", *(f"{row.share:6.1%} {name} {row.why}" for name, row in table.items()), sep="\n")
    less = {name for name, row in table.items() if row.share < ENOUGH}
    assert len(less) <= len(PUBLISHED) - LEAST and not less & EVERYDAY


def test_all_scripts_are_in_the_table_of_the_page() -> None:
    assert {*PUBLISHED} == {path.name for path in SCRIPTS.iterdir() if path.is_dir()}
    assert re.findall(r"^\| `(\w+)`", PAGE.read_text(), re.MULTILINE) == [*PUBLISHED]
    assert PAGE.read_text().startswith(BEGIN)


def test_the_probe_stands_behind_the_begin() -> None:
    assert probed("import a\nf()\n") == f"import a\nf()\n\n{PROBE}"
    begin, _, rest = probed('import a\nif __name__ == "__main__":\n    a()\n').partition("    import atexit\n")
    assert begin == 'import a\nif __name__ == "__main__":\n' and rest.endswith("\n    a()\n")
