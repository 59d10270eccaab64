"""A container start asks the file system for next to nothing on our behalf, and for less with the plan at hand."""

import re
from pathlib import Path

import pytest

from lab.ranks import Mpi
from lab.syscalls import Call, calls_of, tracer
from tests.containers.cells import Site

# The kernel's own: the Go runtime reads the size of huge pages and the control group's share of processors.
PSEUDO = ("/proc/", "/sys/")
ENTRY = "/.mpiimport/bin/mpiimport-entry"
LIBRARY = str(Path.home() / ".cache/mpiimport/snapshots")
# A profile's two places, or the two directories where none is named.
PROFILES = 2
# One of several on two nodes.
RANK = {"PMI_RANK": "0", "PMI_SIZE": "4", "MPI_LOCALNRANKS": "2"}


def outside(calls: list[Call], prefix: Path) -> list[str]:
    own = (*PSEUDO, f"{prefix}/", "/.mpiimport/")
    return [call.path for call in calls if not (call.path + "/").startswith(own) and call.path]


def traced(site: Site, mpi: Mpi, command: list[str], **changes: str) -> Path:
    workspace = site.workspace("root")
    outcome = site.run([*tracer(workspace), *command], mpi, directory=workspace, **changes)
    assert outcome.status == 0, outcome.stderr
    return workspace


def start(site: Site, program: str, *options: str) -> list[str]:
    return [program, "exec", *options, str(site.images / "py"), "/usr/bin/true"]


def plan(site: Site) -> str:
    return site.plan("share", "--profile", "mpich").stdout.strip()


@pytest.mark.parametrize(
    ("flag", "shared"),
    [("--mpiimport=mpich", False), ("--mpiimport=mpich", True), ("--mpiimport", False)],
    ids=["profile", "plan in the environment", "no profile named"],
)
def test_the_shim_and_the_entry_ask_for_little(site: Site, mpich: Mpi, flag: str, shared: bool) -> None:
    changes = {**RANK, **({"_MPIIMPORT_PLAN": plan(site)} if shared else {})}
    shim = site.apptainer()
    # With --cleanenv the entry stands in front of the command.
    workspace = traced(site, mpich, start(site, shim, flag, "--cleanenv"), **changes)
    ours = outside(calls_of(workspace, shim), site.prefix)
    entry = calls_of(workspace, ENTRY)
    assert entry
    assert outside(entry, site.prefix) == []
    # PATH is asked for the runtime, which is what the shim then becomes.
    ours.remove(str(site.runtime))
    # Is a library of snapshots there? Is the image a file?
    assert ours[-2:] == [LIBRARY, str(site.images / "py")]
    assert len(ours) - 2 == (0 if shared else PROFILES), ours


def test_a_start_by_no_rank_looks_at_its_image_once(site: Site, mpich: Mpi) -> None:
    """So it knows what holds the image before it tells all ranks of a launcher inside."""
    shim = site.apptainer()
    workspace = traced(site, mpich, start(site, shim, "--mpiimport=mpich"), _MPIIMPORT_PLAN=plan(site))
    ours = outside(calls_of(workspace, shim), site.prefix)
    ours.remove(str(site.runtime))
    assert ours == [LIBRARY, str(site.images / "py")]


def test_the_plugin_asks_for_little(site: Site, mpich: Mpi) -> None:
    runtime = site.apptainer("plugin")
    bind = f"{site.prefix}:/.mpiimport:ro"
    asked = {}
    for name, options, changes in (
        ("plain", ["--bind", bind], {"MPIIMPORT": "0"}),
        ("profile", ["--mpiimport=mpich"], {}),
        ("plan", ["--mpiimport=mpich"], {"_MPIIMPORT_PLAN": plan(site)}),
    ):
        workspace = traced(site, mpich, start(site, runtime, *options), **changes)
        paths = outside(calls_of(workspace, runtime), site.prefix)
        # Some names hold a process's number, others that of the random workspace.
        asked[name] = {re.sub(r"\d+", "N", path.replace(workspace.name, "WORKSPACE")) for path in paths}
    # The runtime itself looks at the image.
    assert asked["plan"] - asked["plain"] == {LIBRARY}
    assert len(asked["profile"] - asked["plain"]) == PROFILES + 1, asked["profile"] - asked["plain"]
