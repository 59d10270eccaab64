"""`mpiimport prepare -- apptainer exec ...`: from then on the ordinary command starts from the snapshot."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome, run
from tests.conftest import settle
from tests.containers.cells import Cell, Site
from tests.containers.doors.plugin import runtime
from tests.containers.test_warm_images_in_containers import SECONDS, TEXT

PER_NODE = """
schema_version: 1
name: shared
description: a test
extends: mpich
container: {per_node: true}
"""


@dataclass(frozen=True)
class Prepared:
    """A program in containers of ``image``, and the library with its snapshot."""

    site: Site
    mpi: Mpi
    identity: str
    image: Path
    script: Path

    @property
    def library(self) -> Path:
        return self.script.with_name("snapshots")

    @property
    def images(self) -> list[Path]:
        return [*self.library.glob("*/*/image")]

    def line(self, *program: str, flag: str = "--mpiimport", options: tuple[str, ...] = ()) -> list[str]:
        words = program or ("python3", str(self.script), "a")
        return [str(self.site.prefix / "shim" / "apptainer"), "exec", flag, *options, str(self.image), *words]

    def run(self, line: list[str], **variables: str) -> Outcome:
        cell = Cell("shim", "sandbox", self.identity, "hybrid", "mpich")
        # What UCX tries otherwise, containers of a user refuse.
        more = {
            "UCX_POSIX_USE_PROC_LINK": "n",
            "MPIR_CVAR_CH4_CMA_ENABLE": "0",
            "MPIIMPORT_SNAPSHOTS": str(self.library),
        }
        environment = self.site.environment(cell, self.mpi, **{**more, **variables})
        return run(self.site.as_identity(self.identity, line), environment, SECONDS, self.script.parent)

    def prepare(self, line: list[str], **variables: str) -> Outcome:
        settle(self.script)
        command = [str(self.site.prefix / "bin" / "mpiimport"), "prepare", "--"]
        return self.run([*command, *line], **variables)

    def prepare_rank(self, line: list[str], **variables: str) -> Outcome:
        return self.prepare([*self.mpi.command(1), *line], **variables)

    def ranks(self, line: list[str], count: int = 2, **variables: str) -> Outcome:
        return self.run([*self.mpi.command(count), *line], **variables)

    def kinds(self, outcome: Outcome) -> list[str]:
        """Of each rank that has computed the right thing: whether it started warm or fresh."""
        lines = [line.split() for line in outcome.lines()]
        assert outcome.status == 0 and [line[1:3] for line in lines] == [["6", "['a']"]] * len(lines), outcome
        assert len({number for line in lines for number in line[3:]}) == 2 * len(lines)
        return [line[0] for line in lines]


def said(outcome: Outcome) -> list[str]:
    """Return the lines about snapshots."""
    return [line for line in outcome.ours() if "snapshot" in line or "image" in line]


@contextmanager
def prepared_of(site: Site, mpi: Mpi, identity: str, tree: str) -> Iterator[Prepared]:
    script = site.workspace(identity) / "task.py"
    script.write_text(TEXT)
    yield Prepared(site, mpi, identity, site.image(tree)[1], script)


@pytest.mark.parametrize(
    ("identity", "tree"),
    [
        ("user", "sif"),
        pytest.param("root", "sandbox", marks=pytest.mark.full),
        pytest.param("root", "sif", marks=pytest.mark.full),
        pytest.param("user", "sandbox", marks=pytest.mark.full),
    ],
)
def test_ranks_start_from_what_their_container_has_prepared(site: Site, mpich: Mpi, identity: str, tree: str) -> None:
    with prepared_of(site, mpich, identity, tree) as prepared:
        assert prepared.kinds(prepared.ranks(prepared.line())) == ["fresh", "fresh"]
        made = prepared.prepare_rank(prepared.line())
        assert made.status == 0 and made.ours() == [], made
        assert made.stdout.startswith("made image: ") and f"script {prepared.script} is prepared: " in made.stdout
        assert [image.stat().st_mode & 0o777 for image in prepared.images] == [0o600]
        started = prepared.ranks(prepared.line())
        assert (prepared.kinds(started), started.stderr) == (["warm", "warm"], "")
        unwanted = prepared.ranks(prepared.line(), MPIIMPORT_SNAPSHOT="0")
        assert (prepared.kinds(unwanted), said(unwanted)) == (["fresh", "fresh"], [])


@pytest.fixture
def prepared(site: Site, mpich: Mpi) -> Iterator[Prepared]:
    with prepared_of(site, mpich, "user", "sif") as made:
        yield made


@pytest.mark.full
def test_the_ranks_of_a_shared_container(prepared: Prepared) -> None:
    profile = prepared.script.with_name("shared.yaml")
    profile.write_text(PER_NODE)
    line = prepared.line(flag=f"--mpiimport={profile}")
    assert prepared.prepare_rank(line).status == 0
    started = prepared.ranks(line)
    assert (prepared.kinds(started), started.ours()) == (["warm", "warm"], [])


@pytest.mark.full
def test_a_container_that_sees_nothing_of_the_host(prepared: Prepared) -> None:
    """It has another name of the library. A task needs no launcher."""
    place = prepared.script.with_name("apart")
    place.mkdir(mode=0o755)
    script = place / "task.py"
    script.write_text(TEXT)
    line = prepared.line("python3", str(script), "a", options=("--contain", "--bind", str(place)))
    settle(script)
    assert prepared.prepare(line).status == 0
    started = prepared.run(line)
    assert (prepared.kinds(started), started.ours()) == (["warm"], [])


@pytest.mark.full
def test_python_with_options(prepared: Prepared) -> None:
    """With -u it starts from a snapshot that was made so, with others as without mpiimport."""
    script = str(prepared.script)
    assert prepared.prepare_rank(prepared.line("python3", "-u", script, "a")).status == 0
    for options, kind in ((("-u",), "warm"), ((), "fresh"), (("-u", "-W", "error"), "fresh")):
        started = prepared.ranks(prepared.line("python3", *options, script, "a"))
        assert (prepared.kinds(started), said(started)) == ([kind] * 2, []), options


@pytest.mark.full
def test_every_entry_point_finds_what_one_has_prepared(prepared: Prepared) -> None:
    options = ("--bind", "/tmp:/mnt", "-B", "/usr:/other,/etc:/others", "--no-home")
    by_shim = prepared.line(options=options)
    by_plugin = [str(runtime(prepared.site.prefix)), *by_shim[1:]]
    run = [str(prepared.site.prefix / "bin" / "mpiimport"), "run", "--"]
    without_flag = [word for word in by_shim if word != "--mpiimport"]
    assert prepared.prepare_rank(by_shim).status == 0
    for line in (by_shim, by_plugin):
        assert prepared.kinds(prepared.ranks(line)) == ["warm", "warm"], line
    started = prepared.run([*run, *prepared.mpi.command(2), *without_flag])
    assert prepared.kinds(started) == ["warm", "warm"], started


@pytest.mark.full
def test_what_is_started_in_another_way_is_another_program(prepared: Prepared) -> None:
    assert prepared.prepare_rank(prepared.line()).status == 0
    copy = prepared.script.with_name("copy.py")
    copy.write_text("import array\n" + TEXT)
    sandbox = Prepared(prepared.site, prepared.mpi, "user", prepared.site.image("sandbox")[1], prepared.script)
    for line in (
        prepared.line("python3", str(copy), "a"),
        prepared.line(options=("--bind", "/tmp:/mnt")),
        sandbox.line(),
    ):
        outcome = prepared.ranks(line)
        assert (prepared.kinds(outcome), said(outcome)) == (["fresh", "fresh"], [])


@pytest.mark.full
def test_what_does_not_fit_starts_fresh_with_one_line(prepared: Prepared) -> None:
    assert prepared.prepare_rank(prepared.line()).status == 0
    prepared.script.write_text("import json\n" + TEXT)
    outcome = prepared.ranks(prepared.line())
    assert prepared.kinds(outcome) == ["fresh", "fresh"]
    assert ["begins with other statements" in one for one in said(outcome)] == [True], outcome
    prepared.script.write_text(TEXT)
    (image,) = prepared.images
    image.chmod(0o666)
    outcome = prepared.ranks(prepared.line())
    assert prepared.kinds(outcome) == ["fresh", "fresh"]
    assert ["others can write to it" in one for one in said(outcome)] == [True], outcome


@pytest.mark.full
def test_what_makes_no_snapshot_says_why(prepared: Prepared) -> None:
    plain = prepared.line()
    plain.remove("--mpiimport")
    for line, variables, why in (
        (["true"], {}, "made no snapshot"),
        (prepared.line("python3", "-c", TEXT), {}, "only a script has one"),
        (prepared.line(), {"MPIIMPORT": "0"}, "switches everything off"),
    ):
        outcome = prepared.prepare(line, **variables)
        assert outcome.status != 0 and why in outcome.stderr, outcome
        assert prepared.images == []
