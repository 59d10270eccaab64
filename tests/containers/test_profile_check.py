"""`mpiimport profile check --image` finds what of a profile an image, its loader and the launcher will not take."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome, run
from tests.containers.cells import Cell, Site

Check = Callable[..., Outcome]
LIBRARY = "/host/mpi/lib/libmpi.so.12"
# A C library of the future, and one without a version.
STUB = "int from_the_future(void) { return 1; }\n"
FUTURE = "GLIBC_2.0 { local: *; };\nGLIBC_9.99 { global: from_the_future; } GLIBC_2.0;\n"
USER = "int from_the_future(void); int MPI_Init(void) { return from_the_future(); }\n"


@pytest.fixture
def workspace(site: Site) -> Path:
    return site.workspace("root")


@pytest.fixture
def check(site: Site, mpich: Mpi, workspace: Path) -> Check:
    """Checks a profile with these lines against an image; ``launcher`` is started with ``environment`` on top."""

    def command(lines: str, *launcher: str, image: str = "py", **changes: str) -> Outcome:
        profile = workspace / "site.yaml"
        profile.write_text(f"schema_version: 1\nname: site\ndescription: a test\n{lines}")
        environment = site.environment(Cell("shim", "sandbox", "root", "hybrid", "mpich"), mpich, **changes)
        words = ["--image", str(site.images / image), str(profile), *(["--", *launcher] if launcher else [])]
        return run([str(site.prefix / "bin" / "mpiimport"), "profile", "check", *words], environment, 180, workspace)

    return command


def bringing(directory: Path, abi: str = "mpich", search: str = "/host/mpi/lib", way: str = "append") -> str:
    return (
        f"mounts:\n  - {{source: {directory}, target: /host/mpi}}\nmpi: {{library: {LIBRARY}, abi: {abi}}}\n"
        f"environment: {{{way}: {{LD_LIBRARY_PATH: {search}}}}}\n"
    )


@pytest.fixture
def built(workspace: Path) -> Callable[..., Path]:
    """Compiles a library into the directory that a profile brings."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")

    def compile_library(name: str, source: str, *options: str) -> Path:
        path = workspace / "mpi" / "lib" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        line = [compiler, "-shared", "-fPIC", "-x", "c", "-", "-x", "none", f"-Wl,-soname,{name}", "-o", str(path)]
        subprocess.run([*line, *options], input=source, text=True, check=True)
        return path

    return compile_library


def test_a_hosts_mpi_that_fits_is_taken_and_tried(check: Check, mpich: Mpi) -> None:
    outcome = check(bringing(mpich.prefix), *mpich.command(2))
    assert outcome.status == 0, outcome.stdout + outcome.stderr
    assert "nothing is wrong" in outcome.stdout


@pytest.mark.parametrize("way", ["set", "default"])
def test_a_directory_is_searched_however_a_profile_names_it(check: Check, mpich: Mpi, way: str) -> None:
    profile = bringing(mpich.prefix, abi="openmpi", way=way).replace(f"library: {LIBRARY}, ", "")
    assert "has the binary interface of mpich, and the profile says openmpi" in check(profile).stdout


def test_another_binary_interface_is_named(check: Check, mpich: Mpi) -> None:
    outcome = check(bringing(mpich.prefix, abi="openmpi"))
    assert outcome.status == 1
    assert "has the binary interface of mpich, and the profile says openmpi" in outcome.stdout
    assert "bring a library of openmpi, or say abi: mpich" in outcome.stdout


def test_a_newer_c_library_is_named(check: Check, built: Callable[..., Path], workspace: Path) -> None:
    script = workspace / "future.map"
    script.write_text(FUTURE)
    stub = built("libc.so.6", STUB, "-nostdlib", f"-Wl,--version-script={script}")
    library = built("libmpi.so.12", USER, "-nostdlib", str(stub))
    stub.unlink()
    outcome = check(bringing(workspace / "mpi"))
    assert outcome.status == 1
    assert f"{library} needs GLIBC_9.99 of libc.so.6, and the image's has at most GLIBC_2.36" in outcome.stdout
    assert "use an image with a newer libc.so.6, or the image's own MPI" in outcome.stdout


def test_what_a_library_needs_and_nobody_has_is_named(
    check: Check, built: Callable[..., Path], workspace: Path
) -> None:
    fabric = built("libfabric-of-the-host.so.1", STUB)
    library = built("libmpi.so.12", USER, str(fabric))
    elsewhere = workspace / "elsewhere"
    elsewhere.mkdir()
    fabric = fabric.rename(elsewhere / fabric.name)
    outcome = check(bringing(workspace / "mpi"))
    assert outcome.status == 1
    assert f"{library} needs {fabric.name}, which neither the image nor" in outcome.stdout
    # And it is found where the profile says.
    lines = bringing(workspace / "mpi", search="/host/mpi/lib:/host/elsewhere").replace(
        "mpi:", f"  - {{source: {elsewhere}, target: /host/elsewhere}}\nmpi:"
    )
    assert fabric.name not in check(lines).stdout


def test_a_link_out_of_the_mount_is_named(check: Check, mpich: Mpi, workspace: Path) -> None:
    directory = workspace / "mpi" / "lib"
    directory.mkdir(parents=True)
    (directory / "libmpi.so.12").symlink_to(mpich.library)
    outcome = check(bringing(workspace / "mpi"))
    assert outcome.status == 1
    assert f"is a link to {mpich.library.resolve()}, which no mount of the profile shows" in outcome.stdout


def test_a_library_that_is_nowhere_is_named(check: Check) -> None:
    outcome = check("mpi: {library: /opt/nowhere/libmpi.so.12}\n")
    assert outcome.status == 1
    assert "/opt/nowhere/libmpi.so.12 is neither in the image nor in a mount of the profile" in outcome.stdout
    assert "site.yaml:4: " in outcome.stdout


@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
def test_the_shipped_profiles_fit_the_images(site: Site, mpis: dict[str, Mpi], mpi: str) -> None:
    environment = site.environment(Cell("shim", "sandbox", "user", "hybrid", mpi), mpis[mpi])
    command = [str(site.prefix / "bin" / "mpiimport"), "profile", "check", "--image", str(site.images / "py"), mpi]
    line = site.as_identity("user", [*command, "--", *mpis[mpi].command(2)])
    outcome = run(line, environment, 180, Path("/"))
    assert outcome.status == 0, outcome.stdout + outcome.stderr


def test_an_image_that_loads_another_mpi_is_named(check: Check) -> None:
    outcome = check("mpi: {library: /opt/openmpi/lib/libmpi.so.40, abi: mpich}\n")
    assert outcome.status == 1
    assert "its Python loads /opt/openmpi/lib/libmpi.so.40" in outcome.stdout
    assert "the profile is made for mpich" in outcome.stdout


def test_ranks_that_do_not_understand_the_launcher_are_told(check: Check, mpich: Mpi) -> None:
    outcome = check("mpi: {library: /opt/openmpi/lib/libmpi.so.40}\n", *mpich.command(2))
    assert outcome.status == 1
    assert "the launcher says 2 ranks, and MPI says 1 in each: /opt/openmpi/lib/libmpi.so.40" in outcome.stdout
    assert "Use the mpiexec of its MPI" in outcome.stdout


def test_an_image_without_what_is_looked_for_is_a_clear_error(check: Check) -> None:
    outcome = check("", image="nopython")
    assert outcome.status == 1
    assert '"python3": executable file not found' in outcome.stderr
    outcome = check("mpi: {library: /opt/mpi/libmpi.so.12}\n", image="nopython")
    assert outcome.status == 1
    assert "/etc/ld.so.cache" in outcome.stderr
