"""`mpi.inject` brings the host's MPI, found by a pattern, with what it needs; what does not fit is refused with its
cause and remedy. The host's tree is laid out as a Cray's and holds a real MPICH."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome
from tests.conftest import write_profile
from tests.containers.cells import Site
from tests.containers.entry_points import podman
from tests.containers.entry_points.oci_hook import hooks

OLD, NEW = "8.1.9", "8.1.29"
INSIDE = "/.mpiimport-mpi"
PROGRAM = (
    "from mpi4py import MPI\n"
    "print('sum', MPI.COMM_WORLD.allreduce(MPI.COMM_WORLD.rank + 1), 'of', MPI.COMM_WORLD.size)\n"
    "maps = {line.split()[-1] for line in open('/proc/self/maps')}\n"
    "print('from', *(file for file in maps if 'libmpi.so' in file or 'libfabric.so' in file))\n"
)


class Cray:
    """A host with MPICH where Cray puts its own, and libfabric elsewhere."""

    def __init__(self, site: Site, mpi: Mpi) -> None:
        self.site, self.mpi = site, mpi
        self.root = site.workspace("root")
        for version in (OLD, NEW):
            self.directory(version).mkdir(parents=True)
            shutil.copy(mpi.library, self.directory(version))
        self.fabric = self.root / "libfabric" / "1.15" / "lib64"
        shutil.copytree(mpi.prefix / "lib" / "mpich", self.fabric)

    def directory(self, version: str) -> Path:
        return self.root / "pe" / "mpich" / version / "ofi" / "gnu" / "12.3" / "lib-abi-mpich"

    def profile(self, lines: str = "") -> Path:
        pattern = self.root / "pe" / "mpich" / "*" / "ofi" / "gnu" / "*" / "lib-abi-mpich"
        inject = f"  inject: {{from: {pattern}, search: [{self.root}/libfabric/*/lib64]}}\n"
        return write_profile(self.root / "site.yaml", f"mpi:\n{inject}{lines}")

    def run(self, *line: object, identity: str = "root", seconds: float | str = 120, **changes: str) -> Outcome:
        return self.site.run(line, self.mpi, identity, seconds=seconds, **changes)

    def ranks(self, image: str = "py", program: str = PROGRAM, **changes: str) -> Outcome:
        shim = [self.site.apptainer(), "exec", f"--mpiimport={self.root / 'site.yaml'}", self.site.images / image]
        return self.run(*self.mpi.command(2), *shim, "python3", "-c", program, **changes)

    def check(self, *words: str) -> Outcome:
        return self.run(self.site.tool, "profile", "check", *words, self.root / "site.yaml", seconds=180)

    def plan(self) -> "subprocess.CompletedProcess[str]":
        return self.site.plan("show", "--profile", str(self.root / "site.yaml"), "python")


@pytest.fixture
def cray(site: Site, mpich: Mpi) -> Cray:
    return Cray(site, mpich)


def test_the_callers_module_may_say_which_mpi_is_brought(cray: Cray) -> None:
    profile = cray.profile()
    pattern = str(cray.directory("*")).replace("/12.3/", "/*/")
    named = pattern.replace(str(cray.root / "pe" / "mpich" / "*"), "${MPICH_DIR}")
    profile.write_text(profile.read_text().replace(pattern, f"'{named}'"))
    module = {"MPICH_DIR": str(cray.root / "pe" / "mpich" / OLD)}
    outcome = cray.ranks(**module)
    assert outcome.status == 0, outcome.stderr
    assert outcome.stdout.count("sum 3 of 2") == 2
    assert outcome.stdout.count(f"{INSIDE}/libmpi.so.12") == 2
    found = cray.run(cray.site.prefix / "bin" / "mpiimport-plan", "show", "--profile", profile, **module)
    assert json.loads(found.stdout)["inject"]["from"] == str(cray.directory(OLD))


@pytest.mark.parametrize("image", ["py", "py.sif"])
def test_ranks_load_the_newest_mpi_of_the_host(cray: Cray, image: str) -> None:
    cray.profile()
    outcome = cray.ranks(image)
    assert outcome.status == 0, outcome.stderr
    assert [line for line in outcome.lines() if line.startswith("sum")] == ["sum 3 of 2"] * 2
    loaded = {word for line in outcome.lines() if line.startswith("from") for word in line.split()[1:]}
    assert loaded == {f"{INSIDE}/libmpi.so.12", f"{INSIDE}/libfabric.so.1"}


@pytest.mark.parametrize("way", ["cleanenv", "run"])
def test_users_get_it_too_however_they_start(cray: Cray, way: str) -> None:
    profile, site = cray.profile("extends: mpich\n"), cray.site
    inside = [site.images / "py.sif", "/opt/mpich/bin/mpiexec", "-n", "2", "python3", "-c", PROGRAM]
    line: list[object] = [site.apptainer(), "exec", "--cleanenv", f"--mpiimport={profile}", *inside]
    if way == "run":
        # One plan for the whole job.
        line = [site.tool, "run", "--profile", profile, "--", site.apptainer(), "exec", *inside]
    outcome = cray.run(*line, identity="user")
    assert outcome.lines().count("sum 3 of 2") == 2, outcome.stderr
    assert f"{INSIDE}/libmpi.so.12" in outcome.stdout


def test_the_plan_says_what_is_taken_of_what_and_why(cray: Cray) -> None:
    cray.profile()
    inject = json.loads(cray.plan().stdout)["inject"]
    assert inject["from"] == str(cray.directory(NEW))
    assert inject["newest_of"] == [str(cray.directory(OLD)), str(cray.directory(NEW))]
    found = {library["name"]: (library["source"], library["for"]) for library in inject["libraries"]}
    assert found["libmpi.so.12"] == (str(cray.directory(NEW) / "libmpi.so.12"), "")
    assert found["libfabric.so.1"] == (str(cray.fabric / "libfabric.so.1"), "libmpi.so.12")
    # What is the image's own is not brought.
    assert not {"libc.so.6", "libm.so.6", "libpthread.so.0", "ld-linux-x86-64.so.2"} & set(found)


def test_check_names_what_is_brought_and_tries_it(cray: Cray) -> None:
    cray.profile("  abi: mpich\n")
    outcome = cray.check("--image", str(cray.site.images / "py"))
    assert outcome.status == 0, outcome.stdout + outcome.stderr
    assert f"mpi.inject takes {cray.directory(NEW)}, the newest of 2" in outcome.stdout
    assert f"libfabric.so.1 ({cray.fabric / 'libfabric.so.1'}, for libmpi.so.12)" in outcome.stdout


def test_a_need_that_nobody_has_is_named(cray: Cray) -> None:
    (cray.fabric / "libfabric.so.1").unlink()
    cray.profile()
    for outcome in (cray.ranks(), cray.check()):
        assert outcome.status not in (0, None)
        assert "sum" not in outcome.stdout
        assert f"{cray.directory(NEW)}/libmpi.so.12 needs libfabric.so.1, which neither its own" in outcome.stderr
        assert "name its directory in mpi.inject.search" in outcome.stderr


def test_another_binary_interface_is_refused(cray: Cray, mpis: dict[str, Mpi]) -> None:
    cray.profile("  abi: openmpi\n")
    assert "has the binary interface of mpich, and the profile says abi: openmpi" in cray.plan().stderr
    shutil.copy(mpis["openmpi"].library, cray.directory(NEW) / "libmpi.so.12")
    cray.profile()
    assert 'calls itself "libmpi.so.40", so programs for libmpi.so.12 cannot use it' in cray.plan().stderr


def test_a_pattern_that_fits_nothing_is_refused(cray: Cray) -> None:
    cray.profile()
    shutil.rmtree(cray.root / "pe")
    for outcome in (cray.ranks(), cray.check()):
        assert outcome.status not in (0, None)
        assert "no directory of this host is called" in outcome.stderr and "mend the path" in outcome.stderr
        assert "site.yaml:5: " in outcome.stderr


def test_a_library_of_the_hosts_system_is_taken_only_where_the_image_lacks_it(cray: Cray) -> None:
    tool = shutil.which("patchelf")
    known = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
    lacking = "libquadmath.so.0"
    if tool is None or lacking not in known:
        pytest.skip(f"no patchelf, or no {lacking} that the image lacks")
    library = cray.directory(NEW) / "libmpi.so.12"
    for name in ("libz.so.1", "libstdc++.so.6", lacking):
        subprocess.run([tool, "--add-needed", name, library], check=True)
    cray.profile()
    maps = "print(*sorted({line.split()[-1] for line in open('/proc/self/maps') if '.so' in line}))"
    outcome = cray.ranks(program=f"from mpi4py import MPI\n{maps}")
    assert outcome.status == 0, outcome.stderr
    loaded = {Path(word).name: word for word in outcome.stdout.split()}
    assert loaded["libmpi.so.12"] == f"{INSIDE}/libmpi.so.12"
    assert loaded[next(name for name in loaded if name.startswith("libquadmath"))].startswith(f"{INSIDE}/")
    own = [path for name, path in loaded.items() if name.startswith(("libz.", "libstdc++."))]
    assert len(own) == 2 and not any(path.startswith(INSIDE) for path in own), own
    assert cray.check("--image", str(cray.site.images / "py")).status == 0


@pytest.fixture
def newer_c_library(cray: Cray) -> Callable[[], None]:
    """Has the host's newest MPI need a C library of the future."""
    tool = shutil.which("patchelf")
    if tool is None:
        pytest.skip("no patchelf")

    def change() -> None:
        library = cray.directory(NEW) / "libmpi.so.12"
        source, script, future = (cray.root / name for name in ("future.c", "future.map", "libc.so.6"))
        source.write_text("int from_the_future(void) { return 1; }\n")
        script.write_text("GLIBC_9.99 { global: from_the_future; };\n")
        shared = ["cc", "-shared", "-fPIC", "-nostdlib"]
        subprocess.run(
            [*shared, f"-Wl,--version-script={script}", "-Wl,-soname,libc.so.6", "-o", future, source], check=True
        )
        source.write_text("int from_the_future(void); int use(void) { return from_the_future(); }\n")
        user = cray.directory(NEW) / "libnewer.so.1"
        subprocess.run([*shared, "-Wl,-soname,libnewer.so.1", "-o", user, source, future], check=True)
        future.unlink()
        subprocess.run([tool, "--add-needed", "libnewer.so.1", library], check=True)

    return change


@pytest.mark.parametrize("image", ["py", "py.sif"])
def test_an_image_with_an_older_c_library_is_refused(
    cray: Cray, newer_c_library: Callable[[], None], image: str
) -> None:
    newer_c_library()
    cray.profile()
    outcome = cray.ranks(image)
    assert outcome.status not in (0, None)
    assert "sum" not in outcome.stdout
    assert outcome.stderr.count("needs GLIBC_9.99 of libc.so.6, and the image's has at most GLIBC_2.36") == 1
    assert "use an image with a newer C library, or a profile without mpi.inject" in outcome.stderr
    checked = cray.check("--image", str(cray.site.images / image))
    assert checked.status == 1
    assert "needs GLIBC_9.99 of libc.so.6, and the image's has at most GLIBC_2.36" in checked.stdout


def test_the_hook_brings_it_into_podmans_containers(cray: Cray, prefix: Path) -> None:
    profile = prefix / "profiles" / "injecting.yaml"
    profile.write_text(cray.profile().read_text().replace("name: site", "name: injecting"))
    try:
        cray.site.plan("release", "injecting").check_returncode()
        words = ["podman", "--hooks-dir", str(hooks(prefix)), "run", *podman.RUN_OPTIONS]
        words += ["--annotation", "org.mpiimport.profile=injecting", podman.IMAGE]
        words += ["/opt/mpich/bin/mpiexec", "-n", "2", "python3", "-c", PROGRAM]
        outcome = cray.run(*words, **podman.settings("root"))
    finally:
        cray.site.plan("withdraw", "injecting")
        profile.unlink()
    assert outcome.lines().count("sum 3 of 2") == 2, outcome.stderr
    assert f"{INSIDE}/libmpi.so.12" in outcome.stdout
