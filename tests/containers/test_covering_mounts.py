"""What a caller mounts into a container, and where, changes nothing for us; and we leave nothing in it."""

from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome, run
from tests.containers.cells import IDENTITIES, Cell, Site
from tests.containers.entry_points import plugin, podman
from tests.containers.entry_points.oci_hook import hooks

PLACES = ("/opt", "/run", "/mnt")


def _start(site: Site, mpi: Mpi, identity: str, words: list[str | Path], **environment: str) -> Outcome:
    cell = Cell("any", "sandbox", identity, "contained", "mpich")
    line = site.as_identity(identity, [str(word) for word in words])
    return run(line, site.environment(cell, mpi, **environment), 60, Path("/"))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("entry_point", ["shim", "plugin"])
@pytest.mark.parametrize("identity", IDENTITIES)
def test_a_bind_does_not_keep_apptainer_from_starting(
    site: Site, mpich: Mpi, identity: str, entry_point: str, place: str
) -> None:
    runtime = plugin.runtime(site.prefix) if entry_point == "plugin" else site.prefix / "shim" / "apptainer"
    bound = site.workspace("root")
    line: list[str | Path] = [runtime, "exec", "--mpiimport=mpich", "--bind", f"{bound}:{place}", site.images / "py"]
    outcome = _start(site, mpich, identity, [*line, "printenv", "MPIIMPORT_PROFILE"])
    assert outcome.lines() == ["mpich"], outcome.stderr
    assert list(bound.iterdir()) == []


@pytest.mark.parametrize("options", ["ro", "rw"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("stage", ["podman", "cri-o"])
def test_a_volume_does_not_keep_podman_from_starting(
    site: Site, mpich: Mpi, stage: str, place: str, options: str
) -> None:
    bound = site.workspace("root")
    line: list[str | Path] = ["podman", "--hooks-dir", hooks(site.prefix, stage), "run", *podman.RUN_OPTIONS]
    line += ["--annotation", "org.mpiimport.profile=mpich", "--volume", f"{bound}:{place}:{options}", podman.IMAGE]
    settings = podman.environment(site, Cell("any", "oci", "root", "contained", "mpich"), mpich)
    outcome = _start(site, mpich, "root", [*line, "sh", "-c", "cut -d' ' -f2 /proc/mounts"], **settings)
    assert {"/.mpiimport", "/.mpiimport-store"} <= set(outcome.lines()), outcome.stderr
    assert [file.name for file in bound.iterdir() if "mpiimport" in file.name] == []
