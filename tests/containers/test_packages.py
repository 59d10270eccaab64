"""What is installed works where nothing else of mpiimport is: a wheel, a tarball, and a site's module file."""

import copy
import shlex
import shutil
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome, run
from tests.conftest import ROOT, provision
from tests.containers.cells import Cell, Site
from tests.containers.entry_points import ENTRY_POINTS

PROGRAM = """
import sys, colorsys
from mpi4py import MPI
print(MPI.COMM_WORLD.size, type(colorsys.__loader__).__name__, "host" in sys.path)
"""
SERVED = ["2 StoreSourceLoader False"] * 2
# A runtime that only says what it was asked for.
RUNTIME = '#!/bin/sh\necho "$@"\n'
MODULES = {"modules": "/usr/share/modules/init/sh", "lmod": "/usr/share/lmod/lmod/init/sh"}
Clean = Callable[..., Outcome]


@pytest.fixture(scope="module")
def machine() -> Path:
    """Roots of clean machines, and wheels, for there is no network."""
    return provision("clean.sh")


@pytest.fixture(scope="module")
def wheel() -> Path:
    (path,) = (ROOT / "build" / "dist").glob("*.whl")
    return path


@pytest.fixture
def clean(site: Site, machine: Path, wheel: Path, tmp_path: Path) -> Clean:
    """Runs a shell script on a clean machine without network; /work outlives it, / does not."""
    (tmp_path / "app.py").write_text(PROGRAM)
    (tmp_path / "bin").mkdir()
    runtime = tmp_path / "bin" / "apptainer"
    runtime.write_text(RUNTIME)
    runtime.chmod(0o755)
    binds = {tmp_path: "/work", machine / "wheels": "/wheels:ro", wheel.parent: "/dist:ro"}

    def shell(script: str, kind: str = "modules") -> Outcome:
        words = [word for host, place in binds.items() for word in ("--bind", f"{host}:{place}")]
        isolation = ["--contain", "--cleanenv", "--no-home", "--net", "--network", "none", "--pwd", "/work"]
        line = [str(site.runtime), "exec", *isolation, *words, str(machine / kind), "sh", "-euc", script]
        return run(line, {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "APPTAINER_DROP_CAPS": "CAP_SYS_RESOURCE"}, 300)

    return shell


PIP = "export PIP_NO_INDEX=1 PIP_FIND_LINKS='/wheels /dist' PIP_DISABLE_PIP_VERSION_CHECK=1; "
JOB = (
    "export MPI4PY_LIBMPI=/work/venv/lib/libmpi.so.12 MPIIMPORT=force PATH=/work/venv/bin:/work/bin:$PATH HOME=/work; "
    "mpiexec -n 2 "
)
ENVIRONMENT = "python3 -m venv /work/venv; /work/venv/bin/pip install -q "


def test_a_wheel_brings_commands_profiles_and_the_shim(clean: Clean, tmp_path: Path) -> None:
    installed = clean(f"{PIP}{ENVIRONMENT} 'mpiimport[host]' mpich")
    assert installed.status == 0, installed.stderr
    served = clean(f"{JOB} python-mpi -I mpich app.py")
    assert (served.status, served.lines()) == (0, SERVED), served.stderr
    asked = clean(
        "export PATH=/work/venv/bin:/work/bin:$PATH HOME=/work; mpiimport profile list; "
        'export PATH="$(mpiimport shim-path):$PATH"; apptainer exec --mpiimport=mpich image.sif python3 app.py'
    )
    assert asked.status == 0, asked.stderr
    *profiles, started = asked.stdout.splitlines()
    assert {"mpich", "openmpi"} <= {line.split()[0] for line in profiles}
    prefix = "/work/venv/lib/python3.11/site-packages/mpiimport.prefix"
    assert f"--bind {prefix}:/.mpiimport:ro image.sif python3 app.py" in started
    doctor = clean(f"{JOB.replace('mpiexec -n 2', 'mpiimport doctor')}")
    assert doctor.status == 0, doctor.stdout + doctor.stderr


def test_the_commands_of_a_wheel_do_what_those_of_a_sites_directory_do(clean: Clean, tmp_path: Path) -> None:
    assert clean(f"{PIP}{ENVIRONMENT} 'mpiimport[host]' mpich").status == 0
    (tmp_path / "image.sif").touch()
    people = "export PATH=/work/venv/bin:/work/bin:$PATH HOME=/work MPI4PY_LIBMPI=/work/venv/lib/libmpi.so.12; "
    started = clean(f"{people} mpiimport exec --profile mpich --cleanenv image.sif python3 app.py")
    assert started.status == 0, started.stderr
    assert " image.sif /.mpiimport/bin/mpiimport-entry --absolute python3 app.py" in started.stdout
    job = clean(f"{people} export MPIIMPORT=force; mpiimport run --profile mpich -- mpiexec -n 2 python3 app.py")
    assert (job.status, sorted(job.lines())) == (0, SERVED), job.stderr
    # Each rank may call exec.
    imported = clean(f"{people} python3 -X importtime -m mpiimport.host exec image.sif true")
    assert "mpiimport.runtime" in imported.stderr
    assert "argparse" not in imported.stderr and "mpiimport.host.cli" not in imported.stderr
    profile = clean(
        f"{people} mpiimport profile new site --extends mpich >/dev/null; mpiimport profile check site; "
        "mpiimport profile show --provenance site; mpiimport profile export --cdi site; mpiimport profile detect"
    )
    assert profile.status == 0, profile.stderr
    assert "# /work/.config/mpiimport/profiles/site.yaml:" in profile.stdout
    assert "/lib/python3.11/site-packages/mpiimport.prefix/profiles/mpich.yaml:" in profile.stdout
    assert '"mpiimport.org/profile"' in profile.stdout and "extends: mpich" in profile.stdout
    for mistake, status in (("exec none.sif true", 2), ("run --profile none -- true", 2), ("profile show none", 1)):
        assert clean(f"{people} mpiimport {mistake}").status == status, mistake


def test_a_wheel_has_the_rank_path_in_one_file(clean: Clean, wheel: Path, tmp_path: Path) -> None:
    bundle = f"mpiimport.prefix/lib/mpiimport/rank_path.{sys.implementation.cache_tag}"
    assert bundle in zipfile.ZipFile(wheel).namelist()
    assert clean(f"{PIP}{ENVIRONMENT} mpiimport mpich").status == 0
    (package,) = (tmp_path / "venv").glob("lib/*/site-packages/mpiimport.prefix/lib/mpiimport")
    for source in (package / "runtime").glob("*.py"):
        source.unlink()
    shutil.rmtree(package / "runtime" / "__pycache__")
    start = Path("/work") / (package / "start.py").relative_to(tmp_path)
    served = clean(f"{JOB} /work/venv/bin/python -S {start} app.py")
    assert (served.status, served.lines()) == (0, SERVED), served.stderr


def test_a_wheel_without_the_host_commands_libraries_serves_and_says_what_is_missing(clean: Clean) -> None:
    assert clean(f"{PIP}{ENVIRONMENT} mpiimport mpich").status == 0
    served = clean(f"{JOB} python-mpi app.py")
    assert (served.status, served.lines()) == (0, SERVED), served.stderr
    doctor = clean(f"{JOB.replace('mpiexec -n 2', 'mpiimport doctor')}")
    assert doctor.status == 0, doctor.stdout + doctor.stderr
    manifests = clean("/work/venv/bin/mpiimport manifest show --directory /work")
    assert manifests.status == 1 and "install mpiimport[host]" in manifests.stderr


def test_no_file_of_a_wheel_is_left_when_it_is_removed(clean: Clean, tmp_path: Path) -> None:
    outcome = clean(
        f"{PIP}{ENVIRONMENT} mpiimport; venv/bin/python -m mpiimport -c pass; venv/bin/pip uninstall -qy mpiimport"
    )
    assert outcome.status == 0, outcome.stderr
    # pip itself may leave an empty directory.
    left = [
        path
        for path in (tmp_path / "venv").rglob("*")
        if "mpiimport" in str(path.relative_to(tmp_path)) and not path.is_dir()
    ]
    assert left == []


def test_the_entry_points_of_a_wheel_start_the_main_job_in_the_real_runtime(
    site: Site, machine: Path, wheel: Path, mpich: Mpi
) -> None:
    cell = Cell("shim", "sandbox", "user", "hybrid", "mpich")
    workspace = site.workspace("user")
    python = workspace / "venv" / "bin" / "python3"
    script = workspace / "app.py"
    script.write_text(PROGRAM)
    environment = site.environment("user", mpich)
    for command in (
        ["/usr/bin/python3", "-m", "venv", str(workspace / "venv")],
        [str(python), "-m", "pip", "install", "-q", "--no-index", "-f", str(machine / "wheels"), str(wheel)],
    ):
        outcome = run(site.as_identity("user", command), environment, 300)
        assert outcome.status == 0, outcome.stderr
    (prefix,) = (workspace / "venv").glob("lib/*/site-packages/mpiimport.prefix")
    from_wheel = copy.copy(site)
    from_wheel.prefix = prefix
    entry_point = ENTRY_POINTS["shim"]
    person = str(python.with_name("mpiimport"))
    image = [str(site.images / "py"), "/usr/bin/python3", str(script)]
    for command in (
        entry_point.command(from_wheel, cell, mpich, 2, script, []),
        [*mpich.command(2), person, "exec", "--profile", "mpich", *image],
        [person, "run", "--profile", "mpich", "--", *mpich.command(2), "apptainer", "exec", *image],
    ):
        served = run(
            site.as_identity("user", command),
            entry_point.environment(from_wheel, cell, mpich) | {"MPIIMPORT": "force"},
            120,
        )
        assert (served.status, served.lines()) == (0, SERVED), served.stderr


INSTALL = f"{PIP}{ENVIRONMENT} mpich; tar -xf /dist/mpiimport-*.tar.gz; mpiimport-*/install.sh /work/sw"


def test_a_tarball_serves_a_tree_that_has_nothing_of_ours(clean: Clean, tmp_path: Path) -> None:
    installed = clean(INSTALL)
    assert installed.status == 0, installed.stderr
    program = "import colorsys; print(type(colorsys.__loader__).__name__)"
    served = clean(f"{JOB} python3 -S /work/sw/lib/mpiimport/start.py -c {shlex.quote(program)}")
    assert (served.status, served.lines()) == (0, ["StoreSourceLoader"] * 2), served.stderr
    # It may be moved: nothing in it names its place.
    (tmp_path / "sw").rename(tmp_path / "moved")
    moved = clean("/work/moved/bin/mpiimport profile list && /work/moved/bin/mpiimport shim-path")
    assert moved.status == 0, moved.stderr
    assert moved.stdout.splitlines()[-1] == "/work/moved/shim"


@pytest.mark.parametrize("kind", MODULES)
def test_the_module_file_puts_shim_and_commands_on_the_path(
    clean: Clean, kind: str, prefix: Path, tmp_path: Path
) -> None:
    shutil.copytree(prefix, tmp_path / "sw", symlinks=True, ignore=shutil.ignore_patterns("mpi4py", "host"))
    load = f"set +u; . {MODULES[kind]}; module use /work/sw/modulefiles; before=$PATH; module load mpiimport; "
    loaded = clean(
        f"{load} command -v apptainer; command -v singularity; command -v mpiimport; "
        'module unload mpiimport; [ "$PATH" = "$before" ] && echo as before',
        kind,
    )
    assert loaded.status == 0, loaded.stderr
    assert loaded.stdout.splitlines() == [
        "/work/sw/shim/apptainer",
        "/work/sw/shim/singularity",
        "/work/sw/bin/mpiimport",
        "as before",
    ], loaded.stderr
    other = clean(f"setarch i686 sh -c {shlex.quote(load + 'command -v mpiimport || echo none')}", kind)
    assert other.stdout.splitlines() == ["none"], other.stderr
    assert "/work/sw was installed for x86_64, and this is i686: install into another PREFIX here" in " ".join(
        other.stderr.split()
    )
