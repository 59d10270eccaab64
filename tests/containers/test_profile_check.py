"""`mpiimport profile check --image` finds what of a profile an image, its loader and the launcher will not take."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome
from tests.conftest import write_profile
from tests.containers.cells import Site

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
        profile = write_profile(workspace / "site.yaml", lines)
        words = ["--image", site.images / image, profile, *(["--", *launcher] if launcher else [])]
        line = [site.tool, "profile", "check", *words]
        return site.run(line, mpich, seconds=180, directory=workspace, **changes)

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


@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
def test_the_shipped_profiles_fit_the_images(site: Site, mpis: dict[str, Mpi], mpi: str) -> None:
    line = [site.tool, "profile", "check", "--image", site.images / "py", mpi, "--", *mpis[mpi].command(2)]
    outcome = site.run(line, mpis[mpi], "user", seconds=180)
    assert outcome.status == 0, outcome.stdout + outcome.stderr


OPENMPI = "/opt/openmpi/lib/libmpi.so.40"
# Of a profile: its lines, with MPICH's place in that of PREFIX, whether ranks are started, the image, what is said.
WRONG = {
    "another binary interface": (
        bringing(Path("PREFIX"), abi="openmpi"),
        *(False, "py"),
        ["has the binary interface of mpich, and the profile says openmpi", "openmpi, or say abi: mpich"],
    ),
    "a library that is nowhere": (
        "mpi: {library: /opt/nowhere/libmpi.so.12}\n",
        *(False, "py"),
        ["/opt/nowhere/libmpi.so.12 is neither in the image nor in a mount of the profile", "site.yaml:4: "],
    ),
    "an image that loads another MPI": (
        f"mpi: {{library: {OPENMPI}, abi: mpich}}\n",
        *(False, "py"),
        [f"its Python loads {OPENMPI}", "the profile is made for mpich"],
    ),
    "ranks that do not understand the launcher": (
        f"mpi: {{library: {OPENMPI}}}\n",
        *(True, "py"),
        [f"the launcher says 2 ranks, and MPI says 1 in each: {OPENMPI}", "Use the mpiexec of its MPI"],
    ),
    "an image without Python": ("", False, "nopython", ['"python3": executable file not found']),
    "an image without libraries": ("mpi: {library: /opt/mpi/libmpi.so.12}\n", False, "nopython", ["/etc/ld.so.cache"]),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_does_not_fit_is_named(check: Check, mpich: Mpi, case: str) -> None:
    lines, starts, image, said = WRONG[case]
    outcome = check(lines.replace("PREFIX", str(mpich.prefix)), *(mpich.command(2) if starts else []), image=image)
    assert outcome.status == 1
    assert [part for part in said if part not in outcome.stdout + outcome.stderr] == []
