"""Device nodes that a profile names can be used in containers, through every entry point."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.ranks import Mpi
from tests.containers.cells import IDENTITIES, Site
from tests.containers.entry_points import cdi, podman
from tests.containers.entry_points.oci_hook import hooks

# One of those that `cray-mpich` names.
DEVICE = Path("/dev/cxi-mpiimport-test")
# /dev/fuse's numbers: opening it has no effect, and no runtime lets containers open it by itself.
NUMBERS = os.makedev(10, 229)
USE = ["sh", "-c", f"test -c {DEVICE} && exec 3<>{DEVICE} && echo used"]


@pytest.fixture(autouse=True)
def _device(site: Site) -> Iterator[None]:
    os.mknod(DEVICE, 0o666 | stat.S_IFCHR, NUMBERS)
    DEVICE.chmod(0o666)
    site.plan("release", "--writable", "cray-mpich").check_returncode()
    yield
    site.plan("withdraw", "cray-mpich").check_returncode()
    DEVICE.unlink()


@pytest.mark.parametrize("options", [[], ["--contain"], ["--containall"], ["APPTAINER_CONTAIN=1"]], ids=str)
@pytest.mark.parametrize("entry_point", ["shim", "plugin"])
@pytest.mark.parametrize("identity", IDENTITIES)
def test_apptainer_shows_the_devices_of_a_profile(
    site: Site, mpich: Mpi, identity: str, entry_point: str, options: list[str]
) -> None:
    variables = dict(option.split("=") for option in options if "=" in option)
    words = [option for option in options if "=" not in option]
    line = [site.apptainer(entry_point), "exec", "--mpiimport=cray-mpich", *words, site.images / "py", *USE]
    assert site.run(line, mpich, identity, **variables).lines() == ["used"]


@pytest.mark.parametrize("runtime", ["runc", "crun"])
@pytest.mark.parametrize("identity", IDENTITIES)
@pytest.mark.parametrize("entry_point", ["hook", "device"])
def test_podman_gives_the_devices_of_a_profile(
    site: Site, mpich: Mpi, entry_point: str, identity: str, runtime: str
) -> None:
    cdi.write(site.prefix, "private")
    wish = {
        "hook": ["--annotation", "org.mpiimport.profile=cray-mpich"],
        "device": ["--device", "mpiimport.org/profile=cray-mpich"],
    }[entry_point]
    line = ["podman", "--runtime", runtime, "--hooks-dir", str(hooks(site.prefix)), "run", *podman.RUN_OPTIONS]
    settings = podman.settings(identity)
    assert site.run([*line, podman.IMAGE, *USE], mpich, identity, **settings).status != 0
    outcome = site.run([*line, *wish, podman.IMAGE, *USE], mpich, identity, **settings)
    assert outcome.lines() == ["used"], outcome.stderr


def test_where_only_create_container_runs_a_device_is_mounted(site: Site, mpich: Mpi) -> None:
    """There the runtime's device filter has been made already; an ordinary user's container has none."""
    line = ["podman", "--hooks-dir", str(hooks(site.prefix, "cri-o")), "run", *podman.RUN_OPTIONS]
    asked = ["--annotation", "org.mpiimport.profile=cray-mpich"]
    outcome = site.run([*line, *asked, podman.IMAGE, *USE], mpich, "user", **podman.settings("user"))
    assert outcome.lines() == ["used"], outcome.stderr


@pytest.mark.parametrize("identity", IDENTITIES)
def test_exec_gives_podman_the_devices_of_a_profile(site: Site, mpich: Mpi, identity: str) -> None:
    line = [site.tool, "exec", "--profile", "cray-mpich", podman.IMAGE, *USE]
    outcome = site.run(line, mpich, identity, **podman.settings(identity))
    assert outcome.lines() == ["used"], outcome.stderr
