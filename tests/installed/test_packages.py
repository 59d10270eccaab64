"""Packages are installed, used and taken away by the tools of those who get them."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from lab.ranks import clean_environment, run
from tests.conftest import ROOT, provision

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(os.geteuid() != 0, reason="package managers install as root"),
]
# A Debian that may be changed: what is written to the image of the tests is gone with the namespace.
INSIDE = """
layers=$4 && mount -t tmpfs tmpfs "$layers" && mkdir "$layers/upper" "$layers/work" "$layers/root" &&
mount -t overlay -o "lowerdir=$1,upperdir=$layers/upper,workdir=$layers/work" overlay "$layers/root" &&
cp "$2" "$layers/root/tmp" && mount -t proc proc "$layers/root/proc" && mount --rbind /dev "$layers/root/dev" &&
exec chroot "$layers/root" sh -exc "$3"
"""
LIFE = """
dpkg --install /tmp/mpiimport_*.deb
mpiimport --version
mpiimport profile check /opt/mpiimport/profiles/openmpi.yaml
/opt/mpiimport/host/bin/python -m mpiimport -c 'print("ran plainly")'
dpkg --remove mpiimport
test ! -e /opt/mpiimport && test ! -e /usr/share/mpiimport && test ! -e /usr/bin/mpiimport && echo gone
"""


def tarball() -> Path:
    (found,) = (ROOT / "build" / "dist").glob("mpiimport-*.tar.gz")
    return found


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the .deb and the .rpm."""
    directory = tmp_path_factory.mktemp("packages")
    # A Go program has a cache below the home.
    done = run([str(ROOT / "packaging" / "packages.sh"), str(tarball()), str(directory)], dict(os.environ), 900)
    assert done.status == 0, done.stderr
    return directory


def test_the_deb_is_installed_used_and_removed(packages: Path, tmp_path: Path) -> None:
    (deb,) = packages.glob("*.deb")
    image = provision("images.sh", "base") / "base"
    clean = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/root", "LC_ALL": "C.UTF-8"}
    words = ["unshare", "-m", "sh", "-c", INSIDE, "sh", str(image), str(deb), LIFE, str(tmp_path)]
    done = run(words, clean, 300)
    assert done.status == 0, done.stdout + done.stderr
    assert "nothing is wrong" in done.stdout and "ran plainly" in done.stdout
    assert done.stdout.splitlines()[-1] == "gone"


def test_the_rpm_holds_what_the_deb_holds(packages: Path) -> None:
    (rpm,) = packages.glob("*.rpm")
    (deb,) = packages.glob("*.deb")
    if not shutil.which("rpm"):
        provision("rpm.sh")
    asked = ["rpm", "--query", "--package", "--nosignature", str(rpm)]
    listed = subprocess.run([*asked, "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout
    held = subprocess.run(["dpkg", "--contents", deb], stdout=subprocess.PIPE, text=True, check=True).stdout
    in_deb = {line.split()[5][1:] for line in held.splitlines() if not line.startswith("d")}
    assert in_deb <= set(listed.splitlines())
    scripts = subprocess.run([*asked, "--scripts"], stdout=subprocess.PIPE, text=True, check=True).stdout
    assert "install.sh /opt/mpiimport" in scripts and "--uninstall /opt/mpiimport" in scripts


def test_easybuild_installs_by_its_recipe(tmp_path: Path) -> None:
    environment = provision("easybuild.sh")
    recipe = ROOT / "packaging" / "easybuild" / "mpiimport-0.1.0.eb"
    words = [
        *(environment / "bin" / "eb", recipe, f"--prefix={tmp_path}", f"--sourcepath={tarball().parent}"),
        *("--modules-tool=EnvironmentModules", "--module-syntax=Tcl", "--allow-modules-tool-mismatch"),
        "--allow-use-as-root-and-accept-consequences",
    ]
    path = f"{environment}/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    settings = clean_environment(PATH=path, HOME=str(tmp_path), MODULESHOME=str(environment))
    done = run([*map(str, words)], settings, 300, tmp_path)
    assert done.status == 0, done.stdout[-3000:] + done.stderr
    modules = tmp_path / "modules" / "all" / "mpiimport"
    assert "mpiimport/shim" in (modules / "0.1.0").read_text()


def test_the_recipe_for_conda_lays_out_an_environment(tmp_path: Path) -> None:
    """conda-build itself cannot be had from a package index; its build script is run as it would run it."""
    unpacked, place = tmp_path / "unpacked", tmp_path / "environment"
    unpacked.mkdir()
    subprocess.run(["tar", "-C", unpacked, "--strip-components=1", "-xf", tarball()], check=True)
    settings = clean_environment(PREFIX=str(place), PYTHON="/usr/bin/python3")
    done = run([str(ROOT / "packaging" / "conda" / "build.sh")], settings, 300, unpacked)
    assert done.status == 0, done.stderr
    version = run([str(place / "bin" / "mpiimport"), "--version"], clean_environment())
    assert version.status == 0 and "0.1.0" in version.stdout
