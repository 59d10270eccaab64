"""The plugin in the real Apptainer: what its commands offer, and that a plugin that does not fit breaks nothing."""

import shutil
import subprocess
from pathlib import Path

import pytest

from lab.ranks import Outcome, run
from tests.containers.cells import Site

ACTIONS = ("exec", "run", "shell", "test", "instance start", "instance run")
# The beginning of an ELF file; a plugin without it does not load, like one for another build.
MAGIC = b"\x7fELF"


@pytest.fixture
def runtime(site: Site, tmp_path: Path) -> Path:
    """An Apptainer with the plugin that the test may spoil."""
    copy = shutil.copytree(Path(site.apptainer("plugin")).parent.parent, tmp_path / "apptainer", symlinks=True)
    return Path(copy) / "bin" / "apptainer"


def ours(site: Site, *words: str | Path) -> Outcome:
    return run([site.tool, "plugin", *map(str, words)], {"PATH": "/usr/bin:/bin"})


def words(outcome: Outcome) -> str:
    """A report whose lines are wrapped, in one line."""
    return " ".join(outcome.stdout.split())


def works(runtime: Path) -> bool:
    done = subprocess.run([runtime, "--version"], capture_output=True, text=True)
    return done.returncode == 0 and done.stdout.startswith("apptainer version")


def spoil(runtime: Path) -> None:
    """Make its plugin one that does not load, as an upgrade of the runtime does."""
    (library,) = runtime.parent.parent.rglob("object.so")
    library.write_bytes(b"none" + library.read_bytes()[len(MAGIC) :])


@pytest.mark.parametrize("action", ACTIONS)
def test_the_help_lists_the_option(site: Site, action: str) -> None:
    shown = subprocess.run([site.apptainer("plugin"), *action.split(), "--help"], capture_output=True, text=True)
    assert "--mpiimport string" in shown.stdout


def test_the_doctor_sees_it_and_that_an_upgrade_broke_it(site: Site, runtime: Path) -> None:
    path = {"PATH": f"{runtime.parent}:/usr/bin:/bin"}
    line = [site.tool, "doctor"]
    sound = words(run(line, path, 120))
    assert f"containers apptainer version 1.4.5, {runtime}" in sound and "plugin check" not in sound
    assert "entry point --mpiimport by the plugin" in sound
    spoil(runtime)
    broken = run(line, path, 120)
    assert broken.status == 1
    assert f"does not start, and has the plugin: `mpiimport plugin check --runtime {runtime}`" in words(broken)


def test_a_plugin_for_another_build_is_refused(site: Site, runtime: Path) -> None:
    image = runtime.parent.parent / "mpiimport.sif"
    foreign = image.with_name("foreign.sif")
    foreign.write_bytes(image.read_bytes().replace(MAGIC, b"none", 1))
    done = ours(site, "install", foreign, "--runtime", runtime)
    assert done.status == 1
    assert "compile it for this very runtime" in done.stderr
    assert works(runtime)
    assert ours(site, "install", image, "--runtime", runtime).status == 0
    assert works(runtime)
    shown = subprocess.run([runtime, "exec", "--help"], capture_output=True, text=True)
    assert "--mpiimport string" in shown.stdout


def test_a_plugin_that_an_upgrade_broke_is_disabled(site: Site, runtime: Path) -> None:
    assert ours(site, "check", "--runtime", runtime).status == 0
    spoil(runtime)
    assert not works(runtime)
    done = ours(site, "check", "--runtime", runtime)
    assert done.status == 1
    assert "so it is disabled" in done.stderr
    assert works(runtime)
