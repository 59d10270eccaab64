"""A profile's default holds where a variable is unset, and changes nothing that the container would have plainly."""

import os
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome, clean_environment, run
from tests.containers.cells import Cell, Site
from tests.containers.entry_points import plugin, podman
from tests.containers.entry_points.entrypoint import PLAIN, SERVED, make_docker_images
from tests.containers.entry_points.oci_hook import hooks

# Whatever has a meaning to a shell.
ODD = "a ${b}c}`d`\"e\" 'f' \\$g\\\\ ~*?[h]{i,j}!#;&|<>"
DEFAULTS = {"OMP_NUM_THREADS": "1", "KEPT": "1", "ODD": ODD, "TERM": "none", "http_proxy": "site"}
PROFILE = """
schema_version: 1
name: defaults
description: a test
environment:
  default:
    OMP_NUM_THREADS: '1'
    KEPT: '1'
    ODD: "{odd}"
    TERM: none
    http_proxy: site
  keep: [KEPT]
"""
# What `%environment` of a definition becomes; each image that the runtime builds has both files.
IMAGES = {"90-environment.sh": "export OMP_NUM_THREADS=2\n", "99-base.sh": ""}


@pytest.fixture
def profile(site: Site) -> Path:
    path = site.workspace("root") / "defaults.yaml"
    path.write_text(PROFILE.format(odd=ODD.replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")))
    return path


def variables(outcome: Outcome) -> dict[str, str]:
    assert outcome.status == 0, outcome.stderr
    found = dict(line.split("=", 1) for line in outcome.stdout.splitlines() if "=" in line)
    return {name: found[name] for name in DEFAULTS if name in found}


@pytest.mark.parametrize("entry_point", ["shim", "plugin"])
@pytest.mark.parametrize(
    ("options", "callers"),
    [
        ([], {}),
        ([], {"OMP_NUM_THREADS": "4", "KEPT": "", "ODD": "x", "TERM": "xterm", "http_proxy": "mine"}),
        ([], {"APPTAINERENV_OMP_NUM_THREADS": "5", "SINGULARITYENV_KEPT": "6"}),
        (["--env", "OMP_NUM_THREADS=7"], {"OMP_NUM_THREADS": "4"}),
        (["--cleanenv"], {"OMP_NUM_THREADS": "4", "TERM": "xterm", "http_proxy": "mine"}),
        (["--bind", "IMAGES:/.singularity.d/env"], {}),
        (["--bind", "IMAGES:/.singularity.d/env"], {"OMP_NUM_THREADS": "4"}),
    ],
    ids=["unset", "the caller's", "handed in", "by --env", "cleaned", "the image's", "the image's and the caller's"],
)
def test_apptainer(
    site: Site, mpich: Mpi, profile: Path, entry_point: str, options: list[str], callers: dict[str, str]
) -> None:
    runtime = plugin.runtime(site.prefix) if entry_point == "plugin" else site.prefix / "shim" / "apptainer"
    images = profile.with_name("env")
    images.mkdir()
    for name, text in IMAGES.items():
        (images / name).write_text(text)
    options = [word.replace("IMAGES:", f"{images}:") for word in options]
    environment = site.environment(Cell(entry_point, "sandbox", "user", "hybrid", "mpich"), mpich)
    environment.pop("TERM", None)

    def inside(*flags: str) -> dict[str, str]:
        command = [str(runtime), "exec", *flags, *options, str(site.images / "py"), "env"]
        return variables(run(site.as_identity("user", command), environment | callers, 60, profile.parent))

    assert inside(f"--mpiimport={profile}") == DEFAULTS | inside()


def test_a_variable_that_is_kept_beats_the_default_where_the_environment_is_cleaned(
    site: Site, mpich: Mpi, profile: Path
) -> None:
    environment = site.environment(Cell("shim", "sandbox", "user", "hybrid", "mpich"), mpich, KEPT="4")
    shim = str(site.prefix / "shim" / "apptainer")
    command = [shim, "exec", f"--mpiimport={profile}", "--cleanenv", str(site.images / "py"), "env"]
    assert variables(run(site.as_identity("user", command), environment, 60, profile.parent))["KEPT"] == "4"


def test_without_evaluation_nobody_can_tell_and_a_line_says_so(site: Site, mpich: Mpi, profile: Path) -> None:
    environment = site.environment(Cell("shim", "sandbox", "user", "hybrid", "mpich"), mpich, KEPT="4")
    shim = str(site.prefix / "shim" / "apptainer")
    command = [shim, "exec", f"--mpiimport={profile}", "--no-eval", str(site.images / "py"), "env"]
    outcome = run(site.as_identity("user", command), environment, 60, profile.parent)
    assert variables(outcome).get("OMP_NUM_THREADS") is None
    (line,) = outcome.ours()
    assert "OMP_NUM_THREADS" in line and "KEPT" not in line and "cannot be changed without shell evaluation" in line


def test_exec_in_an_image_of_docker(site: Site, mpich: Mpi, profile: Path) -> None:
    make_docker_images(site)
    environment = site.environment(
        Cell("exec", "oci", "root", "contained", "mpich"), mpich, DOCKER_HOST=site.docker.host, KEPT="4"
    ) | {"PATH": os.environ["PATH"]}
    command = [str(site.prefix / "bin" / "mpiimport"), "exec", "--profile", str(profile), "--network=none"]
    unset = variables(run([*command, PLAIN, "env"], environment, 60, Path("/")))
    assert unset == DEFAULTS | {"KEPT": "4"}
    given = variables(run([*command, "--env=OMP_NUM_THREADS=7", PLAIN, "env"], environment, 60, Path("/")))
    assert given == unset | {"OMP_NUM_THREADS": "7"}


def test_the_entry_of_an_image(site: Site, mpich: Mpi, profile: Path) -> None:
    make_docker_images(site)
    environment = site.environment(
        Cell("entrypoint", "oci", "root", "contained", "mpich"), mpich, DOCKER_HOST=site.docker.host
    ) | {"PATH": os.environ["PATH"]}
    options = [f"--volume={profile}:{profile}", "--env=MPIIMPORT=1", f"--env=MPIIMPORT_PROFILE={profile}"]
    command = ["docker", "run", "--rm", "--network=none", *options, "--env=OMP_NUM_THREADS=4", SERVED, "env"]
    assert variables(run(command, environment, 60, Path("/"))) == DEFAULTS | {"OMP_NUM_THREADS": "4"}


def test_the_hook(site: Site, mpich: Mpi, profile: Path) -> None:
    served = site.prefix / "profiles" / "defaults.yaml"
    plan = str(site.prefix / "bin" / "mpiimport-plan")
    environment = podman.environment(site, Cell("oci_hook", "oci", "root", "contained", "mpich"), mpich)
    annotation = ("--annotation", "org.mpiimport.profile=defaults")
    command = ["podman", "--hooks-dir", str(hooks(site.prefix)), "run", *podman.RUN_OPTIONS, *annotation]
    served.write_text(profile.read_text())
    try:
        assert run([plan, "release", "defaults"], {}, 60, Path("/")).status == 0
        outcome = run([*command, "--env", "OMP_NUM_THREADS=4", podman.IMAGE, "env"], environment, directory=Path("/"))
        # podman says what the terminal is.
        assert variables(outcome) == DEFAULTS | {"OMP_NUM_THREADS": "4", "TERM": "xterm"}
    finally:
        run([plan, "withdraw", "defaults"], {}, 60, Path("/"))
        served.unlink()


def test_python_of_the_host(prefix: Path, profile: Path) -> None:
    environment = clean_environment(OMP_NUM_THREADS="4", TERM="xterm")
    plan = [str(prefix / "bin" / "mpiimport-plan"), "environment", "--profile", str(profile)]
    changes = run(plan, environment, 60, profile.parent).stdout.split("\0")
    assert {"KEPT=1", f"ODD={ODD}"} <= set(changes)
    assert not [change for change in changes if change.startswith(("OMP_NUM_THREADS", "TERM"))]


def test_a_device_cannot_carry_a_default_out(prefix: Path, profile: Path) -> None:
    refused = run([str(prefix / "bin" / "mpiimport-plan"), "cdi", "--profile", str(profile)], {}, 60, profile.parent)
    assert refused.status == 2
    assert "wants to default KEPT, and a CDI device can only set variables" in refused.stderr
