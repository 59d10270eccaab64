"""Programs in containers, and the library with what is prepared of them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lab.ranks import Mpi, Outcome
from tests.conftest import settle
from tests.containers.cells import Site

SECONDS = 120
TEXT = """
import numpy, random
import os, sys
restored = os.readlink("/proc/self/exe").endswith("mpiimport-restore")
print("restored" if restored else "fresh", numpy.arange(4).sum(), sys.argv[1:], numpy.random.rand(), random.random())
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
        """Those that processes look at."""
        return [image for since in self.library.glob("*/since") for image in since.parent.glob("*/image")]

    def line(self, *program: str, flag: str = "--mpiimport", options: tuple[str, ...] = ()) -> list[str]:
        words = program or ("python3", str(self.script), "a")
        return [self.site.apptainer(), "exec", flag, *options, str(self.image), *words]

    def run(self, line: list[str], **variables: str) -> Outcome:
        # What UCX tries otherwise, containers of a user refuse.
        more = {
            "UCX_POSIX_USE_PROC_LINK": "n",
            "MPIR_CVAR_CH4_CMA_ENABLE": "0",
            "MPIIMPORT_SNAPSHOTS": str(self.library),
            "MPIIMPORT_PREPARE": "never",
        }
        return self.site.run(line, self.mpi, self.identity, directory=self.script.parent, **{**more, **variables})

    def prepare(self, line: list[str], **variables: str) -> Outcome:
        settle(self.script)
        return self.run([self.site.tool, "prepare", "--", *line], **variables)

    def prepare_rank(self, line: list[str], **variables: str) -> Outcome:
        return self.prepare([*self.mpi.command(1), *line], **variables)

    def ranks(self, line: list[str], count: int = 2, **variables: str) -> Outcome:
        return self.run([*self.mpi.command(count), *line], **variables)

    def kinds(self, outcome: Outcome) -> list[str]:
        """Of each rank that has computed the right thing: whether it started restored or fresh."""
        lines = [line.split() for line in outcome.lines()]
        assert outcome.status == 0 and [line[1:3] for line in lines] == [["6", "['a']"]] * len(lines), outcome
        assert len({number for line in lines for number in line[3:]}) == 2 * len(lines)
        return [line[0] for line in lines]


@contextmanager
def prepared_of(site: Site, mpi: Mpi, identity: str, image: Path, text: str = TEXT) -> Iterator[Prepared]:
    script = site.script(identity, text, "task.py")
    yield Prepared(site, mpi, identity, image, script)
