"""Device nodes that a profile names can be used in containers, through every entry point."""

import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome, run
from tests.containers.cells import IDENTITIES, Cell, Site
from tests.containers.entry_points import cdi, plugin, podman
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
    plan = str(site.prefix / "bin" / "mpiimport-plan")
    subprocess.run([plan, "release", "--writable", "cray-mpich"], check=True, env={})
    yield
    subprocess.run([plan, "withdraw", "cray-mpich"], check=True, env={})
    DEVICE.unlink()


def _start(site: Site, mpi: Mpi, identity: str, words: list[str | Path], **environment: str) -> Outcome:
    cell = Cell("any", "sandbox", identity, "contained", "mpich")
    line = site.as_identity(identity, [str(word) for word in words])
    return run(line, site.environment(cell, mpi, **environment), 60, Path("/"))


@pytest.mark.parametrize("options", [[], ["--contain"], ["--containall"], ["APPTAINER_CONTAIN=1"]], ids=str)
@pytest.mark.parametrize("entry_point", ["shim", "plugin"])
@pytest.mark.parametrize("identity", IDENTITIES)
def test_apptainer_shows_the_devices_of_a_profile(
    site: Site, mpich: Mpi, identity: str, entry_point: str, options: list[str]
) -> None:
    runtime = plugin.runtime(site.prefix) if entry_point == "plugin" else site.prefix / "shim" / "apptainer"
    variables = dict(option.split("=") for option in options if "=" in option)
    words = [option for option in options if "=" not in option]
    line: list[str | Path] = [runtime, "exec", "--mpiimport=cray-mpich", *words, site.images / "py", *USE]
    assert _start(site, mpich, identity, line, **variables).lines() == ["used"]


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
    settings = podman.environment(site, Cell("any", "oci", identity, "contained", "mpich"), mpich)
    assert _start(site, mpich, identity, [*line, podman.IMAGE, *USE], **settings).status != 0
    outcome = _start(site, mpich, identity, [*line, *wish, podman.IMAGE, *USE], **settings)
    assert outcome.lines() == ["used"], outcome.stderr


def test_where_only_create_container_runs_a_device_is_mounted(site: Site, mpich: Mpi) -> None:
    """There the runtime's device filter has been made already; an ordinary user's container has none."""
    line = ["podman", "--hooks-dir", str(hooks(site.prefix, "cri-o")), "run", *podman.RUN_OPTIONS]
    settings = podman.environment(site, Cell("any", "oci", "user", "contained", "mpich"), mpich)
    asked = ["--annotation", "org.mpiimport.profile=cray-mpich"]
    outcome = _start(site, mpich, "user", [*line, *asked, podman.IMAGE, *USE], **settings)
    assert outcome.lines() == ["used"], outcome.stderr


@pytest.mark.parametrize("identity", IDENTITIES)
def test_exec_gives_podman_the_devices_of_a_profile(site: Site, mpich: Mpi, identity: str) -> None:
    settings = podman.environment(site, Cell("any", "oci", identity, "contained", "mpich"), mpich)
    line: list[str | Path] = [site.prefix / "bin" / "mpiimport", "exec", "--profile", "cray-mpich", podman.IMAGE, *USE]
    outcome = _start(site, mpich, identity, line, **settings)
    assert outcome.lines() == ["used"], outcome.stderr
