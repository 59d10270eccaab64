"""Variables of the caller take their places in a profile's values once, where the container is started."""

import os
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome, clean_environment, run
from tests.containers.cells import Cell, Site
from tests.containers.entry_points import plugin, podman
from tests.containers.entry_points.entrypoint import PLAIN, SERVED, make_docker_images
from tests.containers.entry_points.oci_hook import hooks

# Whatever has a meaning to a shell, or to us.
ODD = "a ${OWNER} $${OWNER}}`id`\"e\" 'f' \\$(id)\\\\ ~*?[h]{i,j}!#;&|<>"
PROFILE = """\
schema_version: 1
name: variables
description: a test
mounts:
  - {source: '${DATA}/of-${OWNER}', target: '/data/${OWNER}'}
  - {source: '${NO_SUCH}/a', optional: true}
environment:
  set: {TEXT: '${ODD}', LITERAL: '$${OWNER} $$$$', LOST: '${NO_SUCH}'}
  default: {GIVEN: '${NO_SUCH:-/tmp}/${OWNER}'}
  append: {LIST: '${OWNER}'}
service: {store: '${NO_SUCH:-/tmp}'}
"""
HEAD = "".join(PROFILE.splitlines(keepends=True)[:3])
EXPECTED = {"TEXT": ODD, "LITERAL": "${OWNER} $$", "GIVEN": "/tmp/bob", "LIST": "bob", "MPIIMPORT_STORE": "/tmp"}
SHOW = ["sh", "-c", "cat /data/bob/file; env"]


class Caller:
    """A person with variables, and the profile that refers to them."""

    def __init__(self, site: Site, mpi: Mpi, identity: str = "user") -> None:
        self.site, self.mpi, self.identity = site, mpi, identity
        self.directory = site.workspace(identity)
        self.directory.chmod(0o755)
        self.profile = self.directory / "variables.yaml"
        self.profile.write_text(PROFILE)
        (self.directory / "of-bob").mkdir()
        (self.directory / "of-bob" / "file").write_text("FILE=of bob\n")
        self.variables = {"DATA": str(self.directory), "OWNER": "bob", "ODD": ODD}

    def start(self, *command: str, **variables: str) -> Outcome:
        environment = self.site.environment(Cell("shim", "sandbox", self.identity, "hybrid", "mpich"), self.mpi)
        command = tuple(self.site.as_identity(self.identity, list(command)))
        return run(list(command), environment | self.variables | variables, 120, self.directory)


@pytest.fixture
def caller(site: Site, mpich: Mpi) -> Caller:
    return Caller(site, mpich)


def seen(outcome: Outcome) -> dict[str, str]:
    assert outcome.status == 0, outcome.stderr
    found = dict(line.split("=", 1) for line in outcome.stdout.splitlines() if "=" in line)
    return {name: found[name] for name in (*EXPECTED, "FILE", "LOST") if name in found}


def said(outcome: Outcome) -> list[str]:
    return [line for line in outcome.stderr.splitlines() if line.startswith("mpiimport")]


@pytest.mark.parametrize("entry_point", ["shim", "plugin"])
@pytest.mark.parametrize("option", ["--no-home", "--cleanenv", "--contain"])
def test_apptainer(caller: Caller, entry_point: str, option: str) -> None:
    prefix = caller.site.prefix
    runtime = str(plugin.runtime(prefix) if entry_point == "plugin" else prefix / "shim" / "apptainer")
    outcome = caller.start(
        runtime, "exec", f"--mpiimport={caller.profile}", option, str(caller.site.images / "py"), *SHOW
    )
    assert seen(outcome) == EXPECTED | {"FILE": "of bob"}
    (line,) = said(outcome)
    place = f"{caller.profile}:8: environment.set.LOST is left out: NO_SUCH is not set"
    assert line == f"mpiimport: {place}; set it, or give it a default there, as in ${{NO_SUCH:-VALUE}}"


def test_without_evaluation_the_text_is_the_same(caller: Caller) -> None:
    command = [str(caller.site.prefix / "shim" / "apptainer"), "exec", "--no-eval", f"--mpiimport={caller.profile}"]
    found = seen(caller.start(*command, str(caller.site.images / "py"), *SHOW))
    assert (found["TEXT"], found["LITERAL"]) == (ODD, EXPECTED["LITERAL"])


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("/:/etc:rw", 'it becomes "/:/etc:rw/of-bob", which is not an absolute path'),
        ("relative", 'it becomes "relative/of-bob", which is not an absolute path'),
        ("/data[1]", "DATA has one of * ? [ in it, which would be a pattern there"),
    ],
)
def test_a_value_that_is_no_path_leaves_the_mount_out(caller: Caller, value: str, reason: str) -> None:
    command = [str(caller.site.prefix / "shim" / "apptainer"), "exec", f"--mpiimport={caller.profile}"]
    caller.profile.write_text(HEAD + "mounts: [{source: '${DATA}/of-bob'}]\n")
    outcome = caller.start(*command, str(caller.site.images / "py"), "echo", "ran", DATA=value)
    assert (outcome.status, outcome.stdout) == (0, "ran\n"), outcome.stderr
    (line,) = said(outcome)
    assert f"{caller.profile}:4: mounts, ${{DATA}}/of-bob, is left out: {reason}" in line


def test_one_rank_says_what_is_left_out(caller: Caller) -> None:
    command = [str(caller.site.prefix / "shim" / "apptainer"), "exec", f"--mpiimport={caller.profile}"]
    lines = [
        len(said(caller.start(*command, str(caller.site.images / "py"), *SHOW, PMI_RANK=rank, PMI_SIZE="2")))
        for rank in ("0", "1")
    ]
    assert lines == [1, 0]


def test_run_takes_the_variables_of_who_starts_the_job(caller: Caller) -> None:
    caller.profile.write_text(HEAD + "environment: {set: {TEXT: '${ODD}'}}\n")
    command = [str(caller.site.prefix / "bin" / "mpiimport"), "run", "--profile", str(caller.profile), "--"]
    launcher = ["env", "ODD=of the launcher", "apptainer", "exec", str(caller.site.images / "py"), "env"]
    assert seen(caller.start(*command, *launcher)) == {"TEXT": ODD}


def test_run_leaves_to_each_start_what_only_the_launcher_sets(caller: Caller) -> None:
    caller.profile.write_text(HEAD + "environment: {set: {TEXT: '${OF_THE_RANK}'}}\n")
    command = [str(caller.site.prefix / "bin" / "mpiimport"), "run", "--profile", str(caller.profile), "--"]
    launcher = ["env", "OF_THE_RANK=7", "apptainer", "exec", str(caller.site.images / "py"), "env"]
    outcome = caller.start(*command, *launcher)
    assert (seen(outcome), said(outcome)) == ({"TEXT": "7"}, [])


@pytest.mark.parametrize("entry_point", ["shim", "plugin", "run"])
def test_what_is_not_utf8_is_left_out_for_runtimes_would_change_it(caller: Caller, entry_point: str) -> None:
    # What Latin-1 calls an e with an accent.
    latin = "caf\udce9"
    prefix, image = caller.site.prefix, str(caller.site.images / "py")
    caller.profile.write_text(
        f"{HEAD}mounts: [{{source: '${{DATA}}/${{ODD}}', target: /data}}]\nenvironment: {{set: {{TEXT: '${{ODD}}'}}}}\n"
    )
    (caller.directory / latin).mkdir()
    flag = f"--mpiimport={caller.profile}"
    start = {
        "shim": [str(prefix / "shim" / "apptainer"), "exec", flag, image],
        "plugin": [str(plugin.runtime(prefix)), "exec", flag, image],
        "run": [
            str(prefix / "bin" / "mpiimport"),
            "run",
            "--profile",
            str(caller.profile),
            "--",
            "apptainer",
            "exec",
            image,
        ],
    }[entry_point]
    outcome = caller.start(*start, "sh", "-c", 'echo "TEXT=${TEXT-unset}"', ODD=latin)
    assert seen(outcome) == {"TEXT": "unset"}
    mount, text = said(outcome)
    assert f"{caller.profile}:4: mounts, ${{DATA}}/${{ODD}}, is left out: it becomes" in mount and "not UTF-8" in mount
    assert f"{caller.profile}:5: environment.set.TEXT is left out: it becomes" in text
    check = [str(prefix / "bin" / "mpiimport"), "profile", "check", str(caller.profile)]
    checked = caller.start(*check, ODD=latin)
    assert checked.status == 0 and "left out: it becomes" in checked.stdout, checked.stderr


def test_a_file_that_no_runtime_can_bind_is_named(caller: Caller) -> None:
    caller.profile.write_text(HEAD + "mounts: [{source: '${DATA}/of-*'}]\n")
    command = [str(caller.site.prefix / "shim" / "apptainer"), "exec", f"--mpiimport={caller.profile}"]
    for name, shown in (("of-a:b", "of-a:b"), ("of-caf\udce9", r"of-caf\xe9")):
        (caller.directory / name).mkdir()
        outcome = caller.start(*command, str(caller.site.images / "py"), "echo", "ran")
        (caller.directory / name).rmdir()
        assert (outcome.status, outcome.stdout) == (2, "")
        assert f"{caller.profile}:4: " in outcome.stderr and shown in outcome.stderr
        assert "write a pattern that leaves it out" in outcome.stderr


def test_no_plan_holds_for_a_job_whose_ranks_may_differ(caller: Caller) -> None:
    plan = str(caller.site.prefix / "bin" / "mpiimport-plan")
    outcome = caller.start(plan, "share", "--profile", str(caller.profile))
    assert (outcome.status, outcome.stdout) == (2, "")
    assert "the profile variables refers to NO_SUCH, which is not set here" in outcome.stderr


def test_exec_in_an_image_of_docker(site: Site, mpich: Mpi) -> None:
    make_docker_images(site)
    caller = Caller(site, mpich, "root")
    command = [str(site.prefix / "bin" / "mpiimport"), "exec", "--profile", str(caller.profile), "--network=none"]
    docker = {"PATH": os.environ["PATH"], "DOCKER_HOST": site.docker.host}
    outcome = caller.start(*command, PLAIN, *SHOW, **docker)
    assert seen(outcome) == EXPECTED | {"FILE": "of bob"}
    (line,) = said(outcome)
    assert "environment.set.LOST is left out" in line


def test_the_entry_of_an_image_takes_those_of_the_container(site: Site, mpich: Mpi) -> None:
    make_docker_images(site)
    caller = Caller(site, mpich, "root")
    settings = {"MPIIMPORT": "1", "MPIIMPORT_PROFILE": str(caller.profile), **caller.variables}
    options = [f"--env={name}={value}" for name, value in settings.items()]
    line = ["docker", "run", "--rm", "--network=none", f"--volume={caller.profile}:{caller.profile}", *options]
    outcome = caller.start(*line, SERVED, "env", PATH=os.environ["PATH"], DOCKER_HOST=site.docker.host)
    assert seen(outcome) == EXPECTED
    assert "environment.set.LOST is left out" in outcome.stderr


def test_python_of_the_host(prefix: Path, tmp_path: Path) -> None:
    profile = tmp_path / "variables.yaml"
    profile.write_text(PROFILE)
    environment = clean_environment(OWNER="bob", ODD=ODD, LIST="mine")
    plan = [str(prefix / "bin" / "mpiimport-plan"), "environment", "--profile", str(profile)]
    outcome = run(plan, environment, 60, tmp_path)
    changes = set(outcome.stdout.split("\0"))
    assert {f"TEXT={ODD}", "LITERAL=${OWNER} $$", "GIVEN=/tmp/bob", "LIST=mine:bob", "MPIIMPORT_STORE=/tmp"} <= changes
    assert "environment.set.LOST is left out" in outcome.stderr


def test_the_hook_serves_no_profile_with_variables(site: Site, mpich: Mpi) -> None:
    served = site.prefix / "profiles" / "variables.yaml"
    plan = str(site.prefix / "bin" / "mpiimport-plan")
    environment = podman.environment(site, Cell("oci_hook", "oci", "root", "contained", "mpich"), mpich)
    annotation = ("--annotation", "org.mpiimport.profile=variables")
    command = ["podman", "--hooks-dir", str(hooks(site.prefix)), "run", *podman.RUN_OPTIONS, *annotation]
    command += ["--env", "OWNER=image", podman.IMAGE, "env"]
    try:
        served.write_text(HEAD + "environment: {set: {TEXT: '$${OWNER}'}}\n")
        assert run([plan, "release", "variables"], {}, 60, Path("/")).status == 0
        assert seen(run(command, environment, directory=Path("/"))) == {"TEXT": "${OWNER}"} | STORE
        served.write_text(HEAD + "environment: {set: {TEXT: '${OWNER}'}}\n")
        assert seen(run(command, environment, directory=Path("/"))) == {}
        reason = f"{served}:4: environment.set.TEXT refers to the variable OWNER of a caller, and here is none"
        check = run([str(site.prefix / "bin" / "mpiimport-hook"), "check", "variables"], {}, 60, Path("/"))
        again = run([plan, "release", "variables"], {}, 60, Path("/"))
        assert (check.status, again.status) == (1, 2)
        assert reason in check.stderr and reason in again.stderr
    finally:
        run([plan, "withdraw", "variables"], {}, 60, Path("/"))
        served.unlink()


STORE = {"MPIIMPORT_STORE": "/.mpiimport-store"}


def test_a_device_for_all_refers_to_nobodys_variables(prefix: Path, tmp_path: Path) -> None:
    profile = tmp_path / "variables.yaml"
    profile.write_text(HEAD + "environment: {set: {TEXT: '${OWNER}'}}\n")
    refused = run([str(prefix / "bin" / "mpiimport-plan"), "cdi", "--profile", str(profile)], {}, 60, tmp_path)
    assert (refused.status, refused.stdout) == (2, "")
    assert f"{profile}:4: environment.set.TEXT refers to the variable OWNER of a caller" in refused.stderr
