"""Variables of the caller take their places in a profile's values once, where the container is started."""

from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome, clean_environment, run
from tests.containers.cells import Site
from tests.containers.person import Hook, Person, variables

# Whatever has a meaning to a shell, or to us.
ODD = "a ${OWNER} $${OWNER}}`id`\"e\" 'f' \\$(id)\\\\ ~*?[h]{i,j}!#;&|<>"
PROFILE = """\
mounts:
  - {source: '${DATA}/of-${OWNER}', target: '/data/${OWNER}'}
  - {source: '${NO_SUCH}/a', optional: true}
environment:
  set: {TEXT: '${ODD}', LITERAL: '$${OWNER} $$$$', LOST: '${NO_SUCH}'}
  default: {GIVEN: '${NO_SUCH:-/tmp}/${OWNER}'}
  append: {LIST: '${OWNER}'}
service: {store: '${NO_SUCH:-/tmp}'}
"""
EXPECTED = {"TEXT": ODD, "LITERAL": "${OWNER} $$", "GIVEN": "/tmp/bob", "LIST": "bob", "MPIIMPORT_STORE": "/tmp"}
SHOW = ("sh", "-c", "cat /data/bob/file; env")


class Caller(Person):
    """A person with variables, and the profile that refers to them."""

    def __init__(self, site: Site, mpi: Mpi, identity: str = "user") -> None:
        super().__init__(site, mpi, identity)
        self.file = self.profile("variables", PROFILE)
        (self.directory / "of-bob").mkdir()
        (self.directory / "of-bob" / "file").write_text("FILE=of bob\n")
        self.variables = {"DATA": str(self.directory), "OWNER": "bob", "ODD": ODD}
        self.environment |= self.variables


@pytest.fixture
def caller(site: Site, mpich: Mpi) -> Caller:
    return Caller(site, mpich)


def seen(outcome: Outcome) -> dict[str, str]:
    return variables(outcome, (*EXPECTED, "FILE", "LOST"))


def said(outcome: Outcome) -> list[str]:
    return [line for line in outcome.stderr.splitlines() if line.startswith("mpiimport")]


@pytest.mark.parametrize("entry_point", ["shim", "plugin"])
@pytest.mark.parametrize("option", ["--no-home", "--cleanenv", "--contain"])
def test_apptainer(caller: Caller, entry_point: str, option: str) -> None:
    outcome = caller.start(entry_point, caller.file, *SHOW, options=[option])
    assert seen(outcome) == EXPECTED | {"FILE": "of bob"}
    (line,) = said(outcome)
    place = f"{caller.file}:8: environment.set.LOST is excluded: NO_SUCH is not set"
    assert line == f"mpiimport: {place}; set it, or give it a default there, as in ${{NO_SUCH:-VALUE}}"


def test_without_evaluation_the_text_is_the_same(caller: Caller) -> None:
    found = seen(caller.start("shim", caller.file, *SHOW, options=["--no-eval"]))
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
    caller.profile("variables", "mounts: [{source: '${DATA}/of-bob'}]\n")
    outcome = caller.start("shim", caller.file, "echo", "ran", DATA=value)
    assert (outcome.status, outcome.stdout) == (0, "ran\n"), outcome.stderr
    (line,) = said(outcome)
    assert f"{caller.file}:4: mounts, ${{DATA}}/of-bob, is excluded: {reason}" in line


def test_one_rank_says_what_is_left_out(caller: Caller) -> None:
    starts = [caller.start("shim", caller.file, *SHOW, PMI_RANK=rank, PMI_SIZE="2") for rank in "01"]
    assert [len(said(outcome)) for outcome in starts] == [1, 0]


def test_run_takes_the_variables_of_who_starts_the_job(caller: Caller) -> None:
    caller.profile("variables", "environment: {set: {TEXT: '${ODD}'}}\n")
    outcome = caller.start("run", caller.file, "env", options=["env", "ODD=of the launcher"])
    assert seen(outcome) == {"TEXT": ODD}


def test_run_leaves_to_each_start_what_only_the_launcher_sets(caller: Caller) -> None:
    caller.profile("variables", "environment: {set: {TEXT: '${OF_THE_RANK}'}}\n")
    outcome = caller.start("run", caller.file, "env", options=["env", "OF_THE_RANK=7"])
    assert (seen(outcome), said(outcome)) == ({"TEXT": "7"}, [])


@pytest.mark.parametrize("entry_point", ["shim", "plugin", "run"])
def test_what_is_not_utf8_is_left_out_for_runtimes_would_change_it(caller: Caller, entry_point: str) -> None:
    # What Latin-1 calls an e with an accent.
    latin = "caf\udce9"
    caller.profile(
        "variables",
        "mounts: [{source: '${DATA}/${ODD}', target: /data}]\nenvironment: {set: {TEXT: '${ODD}'}}\n",
    )
    (caller.directory / latin).mkdir()
    outcome = caller.start(entry_point, caller.file, "sh", "-c", 'echo "TEXT=${TEXT-unset}"', ODD=latin)
    assert seen(outcome) == {"TEXT": "unset"}
    mount, text = said(outcome)
    assert f"{caller.file}:4: mounts, ${{DATA}}/${{ODD}}, is excluded: it becomes" in mount and "not UTF-8" in mount
    assert f"{caller.file}:5: environment.set.TEXT is excluded: it becomes" in text
    checked = caller.run(caller.program("mpiimport"), "profile", "check", str(caller.file), ODD=latin)
    assert checked.status == 0 and "excluded: it becomes" in checked.stdout, checked.stderr


def test_a_file_that_no_runtime_can_bind_is_named(caller: Caller) -> None:
    caller.profile("variables", "mounts: [{source: '${DATA}/of-*'}]\n")
    for name, shown in (("of-a:b", "of-a:b"), ("of-caf\udce9", r"of-caf\xe9")):
        (caller.directory / name).mkdir()
        outcome = caller.start("shim", caller.file, "echo", "ran")
        (caller.directory / name).rmdir()
        assert (outcome.status, outcome.stdout) == (2, "")
        assert f"{caller.file}:4: " in outcome.stderr and shown in outcome.stderr
        assert "write a pattern that leaves it out" in outcome.stderr


def test_no_plan_holds_for_a_job_whose_ranks_may_differ(caller: Caller) -> None:
    outcome = caller.run(caller.program("mpiimport-plan"), "share", "--profile", str(caller.file))
    assert (outcome.status, outcome.stdout) == (2, "")
    assert "the profile variables refers to NO_SUCH, which is not set here" in outcome.stderr


def test_exec_in_an_image_of_docker(site: Site, mpich: Mpi) -> None:
    caller = Caller(site, mpich, "root")
    outcome = caller.start("docker", caller.file, *SHOW)
    assert seen(outcome) == EXPECTED | {"FILE": "of bob"}
    (line,) = said(outcome)
    assert "environment.set.LOST is excluded" in line


def test_the_entry_of_an_image_takes_those_of_the_container(site: Site, mpich: Mpi) -> None:
    caller = Caller(site, mpich, "root")
    settings = {"MPIIMPORT": "1", "MPIIMPORT_PROFILE": str(caller.file), **caller.variables}
    options = [f"--volume={caller.file}:{caller.file}", *(f"--env={name}={value}" for name, value in settings.items())]
    outcome = caller.start("entry", "", "env", options=options)
    assert seen(outcome) == EXPECTED
    assert "environment.set.LOST is excluded" in outcome.stderr


def test_python_of_the_host(caller: Caller) -> None:
    environment = clean_environment(OWNER="bob", ODD=ODD, LIST="mine")
    plan = [caller.program("mpiimport-plan"), "environment", "--profile", str(caller.file)]
    outcome = run(plan, environment, 60, caller.directory)
    changes = set(outcome.stdout.split("\0"))
    assert {f"TEXT={ODD}", "LITERAL=${OWNER} $$", "GIVEN=/tmp/bob", "LIST=mine:bob", "MPIIMPORT_STORE=/tmp"} <= changes
    assert "environment.set.LOST is excluded" in outcome.stderr


def test_the_hook_serves_no_profile_with_variables(site: Site, mpich: Mpi) -> None:
    options = ["--env", "OWNER=image"]
    with Hook(site, mpich, "variables") as hook:
        hook.write("variables", "environment: {set: {TEXT: '$${OWNER}'}}\n")
        assert hook.release("variables").returncode == 0
        given = {"TEXT": "${OWNER}", "MPIIMPORT_STORE": "/.mpiimport-store"}
        assert seen(hook.run("env", options=options)) == given
        hook.write("variables", "environment: {set: {TEXT: '${OWNER}'}}\n")
        assert seen(hook.run("env", options=options)) == {}
        file = hook.profiles["variables"]
        reason = f"{file}:4: environment.set.TEXT refers to the variable OWNER of a caller, and here is none"
        check = run([str(site.prefix / "bin" / "mpiimport-hook"), "check", "variables"], {}, 60, Path("/"))
        again = hook.release("variables")
        assert (check.status, again.returncode) == (1, 2)
        assert reason in check.stderr and reason in again.stderr


def test_a_device_for_all_refers_to_nobodys_variables(caller: Caller) -> None:
    caller.profile("variables", "environment: {set: {TEXT: '${OWNER}'}}\n")
    refused = run([caller.program("mpiimport-plan"), "cdi", "--profile", str(caller.file)], {}, 60, caller.directory)
    assert (refused.status, refused.stdout) == (2, "")
    assert f"{caller.file}:4: environment.set.TEXT refers to the variable OWNER of a caller" in refused.stderr
