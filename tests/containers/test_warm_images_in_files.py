"""`mpiimport bake --warm FILE -- apptainer exec ...`: ranks in containers start from a file of the user's own."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome, run
from tests.conftest import settle
from tests.containers.cells import Cell, Site
from tests.containers.test_warm_images_in_containers import SECONDS, TEXT

PER_NODE = """
schema_version: 1
name: shared
description: a test
extends: mpich
container: {per_node: true}
"""


@dataclass(frozen=True)
class Baked:
    """A program in containers of ``image``, and the file of its image."""

    site: Site
    mpi: Mpi
    identity: str
    image: Path
    script: Path

    @property
    def file(self) -> Path:
        return self.script.with_name("app.img")

    def line(self, *program: str, flag: str = "--mpiimport", options: tuple[str, ...] = ()) -> list[str]:
        words = program or ("python3", str(self.script), "a")
        return [str(self.site.prefix / "shim" / "apptainer"), "exec", flag, *options, str(self.image), *words]

    def run(self, line: list[str], **variables: str) -> Outcome:
        cell = Cell("shim", "sandbox", self.identity, "hybrid", "mpich")
        # What UCX tries otherwise, containers of a user refuse.
        more = {"UCX_POSIX_USE_PROC_LINK": "n", "MPIR_CVAR_CH4_CMA_ENABLE": "0", **variables}
        environment = self.site.environment(cell, self.mpi, **more)
        return run(self.site.as_identity(self.identity, line), environment, SECONDS, self.script.parent)

    def bake(self, line: list[str], **variables: str) -> Outcome:
        settle(self.script)
        command = [str(self.site.prefix / "bin" / "mpiimport"), "bake", "--warm", self.file.name, "--"]
        return self.run([*command, *self.mpi.command(1), *line], **variables)

    def ranks(self, line: list[str], count: int = 2, file: str = "app.img", **variables: str) -> Outcome:
        return self.run([*self.mpi.command(count), *line], MPIIMPORT_WARM=file, **variables)

    def kinds(self, outcome: Outcome) -> list[str]:
        """Of each rank that has computed the right thing: whether it started warm or fresh."""
        lines = [line.split() for line in outcome.lines()]
        assert outcome.status == 0 and [line[1:3] for line in lines] == [["6", "['a']"]] * len(lines), outcome
        assert len({number for line in lines for number in line[3:]}) == 2 * len(lines)
        return [line[0] for line in lines]


@contextmanager
def baked_of(site: Site, mpi: Mpi, identity: str, tree: str) -> Iterator[Baked]:
    script = site.workspace(identity) / "task.py"
    script.write_text(TEXT)
    yield Baked(site, mpi, identity, site.image(tree)[1], script)


@pytest.mark.parametrize(
    ("identity", "tree"),
    [
        ("user", "sif"),
        pytest.param("root", "sandbox", marks=pytest.mark.full),
        pytest.param("root", "sif", marks=pytest.mark.full),
        pytest.param("user", "sandbox", marks=pytest.mark.full),
    ],
)
def test_ranks_start_from_a_file_that_their_container_has_made(
    site: Site, mpich: Mpi, identity: str, tree: str
) -> None:
    with baked_of(site, mpich, identity, tree) as baked:
        made = baked.bake(baked.line())
        assert (made.status, made.stderr) == (0, ""), made
        assert made.stdout.startswith("made app.img: ")
        assert baked.file.stat().st_mode & 0o777 == 0o600
        started = baked.ranks(baked.line())
        assert (baked.kinds(started), started.stderr) == (["warm", "warm"], "")
        missing = baked.ranks(baked.line(), file="none.img")
        assert baked.kinds(missing) == ["fresh", "fresh"]
        (line,) = missing.ours()
        assert "the image is not used: it is a link, or cannot be opened: /.mpiimport-warm/none.img" in line


@pytest.fixture
def baked(site: Site, mpich: Mpi) -> Iterator[Baked]:
    with baked_of(site, mpich, "user", "sif") as made:
        yield made


@pytest.mark.full
def test_the_ranks_of_a_shared_container(baked: Baked) -> None:
    profile = baked.script.with_name("shared.yaml")
    profile.write_text(PER_NODE)
    line = baked.line(flag=f"--mpiimport={profile}")
    assert baked.bake(line).status == 0
    started = baked.ranks(line)
    assert (baked.kinds(started), started.ours()) == (["warm", "warm"], [])


@pytest.mark.full
def test_a_container_that_sees_nothing_of_the_host(baked: Baked) -> None:
    """It has another name of the file's directory. A task needs no launcher."""
    place = baked.script.with_name("apart")
    place.mkdir(mode=0o755)
    script = place / "task.py"
    script.write_text(TEXT)
    line = baked.line("python3", str(script), "a", options=("--contain", "--bind", str(place)))
    bake = [str(baked.site.prefix / "bin" / "mpiimport"), "bake", "--warm", str(baked.file), "--", *line]
    settle(script)
    assert baked.run(bake).status == 0
    started = baked.run(line, MPIIMPORT_WARM=str(baked.file))
    assert (baked.kinds(started), started.ours()) == (["warm"], [])


@pytest.mark.full
def test_python_with_options(baked: Baked) -> None:
    """With -u it starts from an image that was made so. Of other options one line tells."""
    script = str(baked.script)
    assert baked.bake(baked.line("python3", "-u", script, "a")).status == 0
    started = baked.ranks(baked.line("python3", "-u", script, "a"))
    assert (baked.kinds(started), started.ours()) == (["warm", "warm"], [])
    for options, why in (((), "it was made of another program"), (("-u", "-W", "error"), "python has options")):
        fresh = baked.ranks(baked.line("python3", *options, script, "a"))
        assert baked.kinds(fresh) == ["fresh", "fresh"]
        (line,) = (line for line in fresh.ours() if "image" in line)
        assert why in line


@pytest.mark.full
def test_what_does_not_fit_starts_fresh_with_one_line(baked: Baked) -> None:
    assert baked.bake(baked.line()).status == 0
    other = "it was made of another program, for another PATH or name of Python, or in another container"
    copy = baked.script.with_name("copy.py")
    copy.write_text(TEXT)
    sandbox = Baked(baked.site, baked.mpi, "user", baked.site.image("sandbox")[1], baked.script)
    for line, why in (
        (baked.line("python3", str(copy), "a"), other),
        (baked.line("/usr/bin/python3", str(baked.script), "a"), other),
        (baked.line(options=("--bind", "/tmp:/mnt")), other),
        (sandbox.line(), other),
    ):
        outcome = baked.ranks(line)
        assert baked.kinds(outcome) == ["fresh", "fresh"]
        assert [why in one for one in outcome.ours()] == [True], outcome
    baked.script.write_text("import json\n" + TEXT)
    outcome = baked.ranks(baked.line())
    assert baked.kinds(outcome) == ["fresh", "fresh"]
    assert any("begins with other imports" in one for one in outcome.ours()), outcome
    baked.script.write_text(TEXT)
    baked.file.chmod(0o666)
    outcome = baked.ranks(baked.line())
    assert baked.kinds(outcome) == ["fresh", "fresh"]
    assert ["others can write to it" in one for one in outcome.ours()] == [True], outcome


@pytest.mark.full
def test_what_makes_no_image_says_why(baked: Baked) -> None:
    plain = baked.line()
    plain.remove("--mpiimport")
    for line, variables, why in (
        (["true"], {}, "made no image"),
        (baked.line("python3", "-c", TEXT), {}, "only a script has one"),
        (baked.line(), {"MPIIMPORT": "0"}, "switches everything off"),
    ):
        outcome = baked.bake(line, **variables)
        assert outcome.status != 0 and why in outcome.stderr, outcome
        assert not baked.file.exists()
