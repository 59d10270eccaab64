"""Several profiles hold together: those that a launch names between commas, and those that a profile extends."""

import pytest

from lab.ranks import Mpi, Outcome
from tests.containers.cells import Site
from tests.containers.person import Hook, Person, variables

PARTS = {
    "one": "environment: {set: {A: one}}\nmounts: [{source: DATA, target: /of-one}]\n",
    "two": "environment: {set: {B: two}}\nmounts: [{source: DATA, target: /of-two}]\n",
    "other": "environment: {set: {A: other}}\n",
    "both": "extends: [one, two, other]\nenvironment: {set: {A: both}}\n",
}
TOGETHER = {"A": "one", "B": "two", "MPIIMPORT_PROFILE": "one,two"}
SHOW = ("sh", "-c", "cat /of-one/file /of-two/file; env")


def owner(site: Site, mpi: Mpi, identity: str) -> Person:
    made = Person(site, mpi, identity)
    (made.directory / "file").write_text("seen\n")
    for name, text in PARTS.items():
        made.profile(name, text.replace("DATA", str(made.directory)))
    return made


@pytest.fixture
def person(site: Site, mpich: Mpi) -> Person:
    return owner(site, mpich, "user")


def seen(outcome: Outcome) -> dict[str, str]:
    found = variables(outcome, TOGETHER)
    assert outcome.stdout.startswith("seen\nseen\n"), outcome.stdout
    return found


@pytest.mark.parametrize("entry_point", ["shim", "plugin"])
@pytest.mark.parametrize("way", ["flag", "variable", "files"])
def test_apptainer(person: Person, entry_point: str, way: str) -> None:
    if way == "variable":
        line = [person.site.apptainer(entry_point), "exec", "--mpiimport", person.image, *SHOW]
        outcome = person.run(*line, MPIIMPORT_PROFILE="one,two")
    else:
        files = ",".join(f"{person.profiles}/{name}.yaml" for name in ("one", "two"))
        outcome = person.start(entry_point, files if way == "files" else "one,two", *SHOW)
    assert seen(outcome) == TOGETHER


def test_one_that_extends_several_decides_between_them(person: Person) -> None:
    assert seen(person.start("shim", "both", *SHOW)) == {"A": "both", "B": "two", "MPIIMPORT_PROFILE": "both"}


@pytest.mark.parametrize("entry_point", ["shim", "plugin", "run", "exec"])
def test_what_contradicts_starts_nothing_and_shows_both_places(person: Person, entry_point: str) -> None:
    outcome = person.start(entry_point, "one,other", "echo", "ran")
    assert (outcome.status, outcome.stdout) == (2, "")
    assert f"{person.profiles}/one.yaml:4: environment.set.A: one\n" in outcome.stderr
    assert f"{person.profiles}/other.yaml:4: environment.set.A: other\n" in outcome.stderr


@pytest.mark.parametrize("way", ["run", "exec"])
def test_run_and_exec(person: Person, way: str) -> None:
    assert seen(person.start(way, "one,two", *SHOW)) == TOGETHER


def test_exec_in_an_image_of_docker(site: Site, mpich: Mpi) -> None:
    # The paths of files may be relative.
    asked = "config/mpiimport/profiles/one.yaml,two"
    assert seen(owner(site, mpich, "root").start("docker", asked, *SHOW)) == TOGETHER


def test_the_hook_serves_several_if_each_is_released(site: Site, mpich: Mpi) -> None:
    with Hook(site, mpich, "hook-one", "hook-two") as hook:
        for name, variable in zip(hook.profiles, "AB", strict=True):
            hook.write(name, f"environment: {{set: {{{variable}: '1'}}}}\n")
        assert hook.release("hook-one,hook-two").returncode == 2
        assert hook.release("hook-one").returncode == 0
        assert variables(hook.run("env"), TOGETHER) == {}
        assert hook.release("hook-two").returncode == 0
        assert variables(hook.run("env"), TOGETHER) == {"A": "1", "B": "1", "MPIIMPORT_PROFILE": "hook-one,hook-two"}


def test_a_device_has_one_name(person: Person) -> None:
    refused = person.run(person.program("mpiimport-plan"), "cdi", "--profile", "one,two")
    assert (refused.status, refused.stdout) == (2, "")
    assert "write a profile that extends these" in refused.stderr


@pytest.mark.parametrize("part", ["gpu-nvidia", "gpu-amd"])
def test_a_part_for_a_gpu_that_is_not_there_stops_nothing(person: Person, part: str) -> None:
    outcome = person.start("shim", f"one,two,{part}", *SHOW)
    assert seen(outcome)["MPIIMPORT_PROFILE"] == f"one,two,{part}"
    assert outcome.ours() == []
