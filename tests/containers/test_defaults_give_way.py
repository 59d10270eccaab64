"""A profile's default holds where a variable is unset, and changes nothing that the container would have plainly."""

from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome, clean_environment, run
from tests.containers.cells import Site
from tests.containers.person import Hook, Person, variables

# Whatever has a meaning to a shell.
ODD = "a ${b}c}`d`\"e\" 'f' \\$g\\\\ ~*?[h]{i,j}!#;&|<>"
DEFAULTS = {"OMP_NUM_THREADS": "1", "KEPT": "1", "ODD": ODD, "TERM": "none", "http_proxy": "site"}
PROFILE = """\
environment:
  default:
    OMP_NUM_THREADS: '1'
    KEPT: '1'
    ODD: "{odd}"
    TERM: none
    http_proxy: site
  keep: [KEPT]
""".format(odd=ODD.replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$"))
# What `%environment` of a definition becomes; each image that the runtime builds has both files.
IMAGES = {"90-environment.sh": "export OMP_NUM_THREADS=2\n", "99-base.sh": ""}


def owner(site: Site, mpi: Mpi, identity: str) -> Person:
    made = Person(site, mpi, identity)
    made.environment.pop("TERM", None)
    made.profile("defaults", PROFILE)
    return made


@pytest.fixture
def person(site: Site, mpich: Mpi) -> Person:
    return owner(site, mpich, "user")


@pytest.fixture
def root(site: Site, mpich: Mpi) -> Person:
    return owner(site, mpich, "root")


def seen(outcome: Outcome) -> dict[str, str]:
    return variables(outcome, DEFAULTS)


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
def test_apptainer(person: Person, entry_point: str, options: list[str], callers: dict[str, str]) -> None:
    images = person.directory / "env"
    images.mkdir()
    for name, text in IMAGES.items():
        (images / name).write_text(text)
    options = [word.replace("IMAGES:", f"{images}:") for word in options]
    plain = person.run(person.site.apptainer(entry_point), "exec", *options, person.image, "env", **callers)
    served = person.start(entry_point, "defaults", "env", options=options, **callers)
    assert seen(served) == DEFAULTS | seen(plain)


def test_a_variable_that_is_kept_beats_the_default_where_the_environment_is_cleaned(person: Person) -> None:
    assert seen(person.start("shim", "defaults", "env", options=["--cleanenv"], KEPT="4"))["KEPT"] == "4"


def test_without_evaluation_nobody_can_tell_and_a_line_says_so(person: Person) -> None:
    outcome = person.start("shim", "defaults", "env", options=["--no-eval"], KEPT="4")
    assert seen(outcome).get("OMP_NUM_THREADS") is None
    (line,) = outcome.ours()
    assert "OMP_NUM_THREADS" in line and "KEPT" not in line and "cannot be changed without shell evaluation" in line


def test_exec_in_an_image_of_docker(root: Person) -> None:
    unset = seen(root.start("docker", "defaults", "env", KEPT="4"))
    assert unset == DEFAULTS | {"KEPT": "4"}
    given = seen(root.start("docker", "defaults", "env", options=["--env=OMP_NUM_THREADS=7"], KEPT="4"))
    assert given == unset | {"OMP_NUM_THREADS": "7"}


def test_the_entry_of_an_image(root: Person) -> None:
    file = root.profiles / "defaults.yaml"
    options = [f"--volume={file}:{file}", "--env=MPIIMPORT=1", f"--env=MPIIMPORT_PROFILE={file}"]
    outcome = root.start("entry", "", "env", options=[*options, "--env=OMP_NUM_THREADS=4"])
    assert seen(outcome) == DEFAULTS | {"OMP_NUM_THREADS": "4"}


def test_the_hook(site: Site, mpich: Mpi) -> None:
    with Hook(site, mpich, "defaults") as hook:
        hook.write("defaults", PROFILE)
        assert hook.release("defaults").returncode == 0
        outcome = hook.run("env", options=["--env", "OMP_NUM_THREADS=4"])
        # podman says what the terminal is.
        assert seen(outcome) == DEFAULTS | {"OMP_NUM_THREADS": "4", "TERM": "xterm"}


def test_python_of_the_host(person: Person) -> None:
    environment = clean_environment(OMP_NUM_THREADS="4", TERM="xterm")
    plan = [person.program("mpiimport-plan"), "environment", "--profile", f"{person.profiles}/defaults.yaml"]
    changes = run(plan, environment, 60, Path("/")).stdout.split("\0")
    assert {"KEPT=1", f"ODD={ODD}"} <= set(changes)
    assert not [change for change in changes if change.startswith(("OMP_NUM_THREADS", "TERM"))]


def test_a_device_cannot_carry_a_default_out(person: Person) -> None:
    refused = person.run(person.program("mpiimport-plan"), "cdi", "--profile", "defaults")
    assert refused.status == 2
    assert "wants to default KEPT, and a CDI device can only set variables" in refused.stderr
