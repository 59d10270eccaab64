"""What a caller mounts into a container, and where, changes nothing for us; and we leave nothing in it."""

import pytest

from lab.ranks import Mpi
from tests.containers.cells import IDENTITIES, Site
from tests.containers.entry_points import podman
from tests.containers.entry_points.oci_hook import hooks

PLACES = ("/opt", "/run", "/mnt")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("entry_point", ["shim", "plugin"])
@pytest.mark.parametrize("identity", IDENTITIES)
def test_a_bind_does_not_keep_apptainer_from_starting(
    site: Site, mpich: Mpi, identity: str, entry_point: str, place: str
) -> None:
    bound = site.workspace("root")
    line = [site.apptainer(entry_point), "exec", "--mpiimport=mpich", "--bind", f"{bound}:{place}", site.images / "py"]
    outcome = site.run([*line, "printenv", "MPIIMPORT_PROFILE"], mpich, identity)
    assert outcome.lines() == ["mpich"], outcome.stderr
    assert list(bound.iterdir()) == []


@pytest.mark.parametrize("options", ["ro", "rw"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("stage", ["podman", "cri-o"])
def test_a_volume_does_not_keep_podman_from_starting(
    site: Site, mpich: Mpi, stage: str, place: str, options: str
) -> None:
    bound = site.workspace("root")
    line = ["podman", "--hooks-dir", str(hooks(site.prefix, stage)), "run", *podman.RUN_OPTIONS]
    line += ["--annotation", "org.mpiimport.profile=mpich", "--volume", f"{bound}:{place}:{options}", podman.IMAGE]
    outcome = site.run([*line, "sh", "-c", "cut -d' ' -f2 /proc/mounts"], mpich, **podman.settings("root"))
    assert {"/.mpiimport", "/.mpiimport-store"} <= set(outcome.lines()), outcome.stderr
    assert [file.name for file in bound.iterdir() if "mpiimport" in file.name] == []
