"""Several profiles hold together: those that a launch names between commas, and those that a profile extends."""

import os
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome, run
from tests.containers.cells import Cell, Site
from tests.containers.entry_points import plugin, podman
from tests.containers.entry_points.entrypoint import PLAIN, make_docker_images
from tests.containers.entry_points.oci_hook import hooks

HEAD = "schema_version: 1\nname: {}\ndescription: a test\n"
PARTS = {
    "one": "environment: {set: {A: one}}\nmounts: [{source: DATA, target: /of-one}]\n",
    "two": "environment: {set: {B: two}}\nmounts: [{source: DATA, target: /of-two}]\n",
    "other": "environment: {set: {A: other}}\n",
    "both": "extends: [one, two, other]\nenvironment: {set: {A: both}}\n",
}
TOGETHER = {"A": "one", "B": "two", "MPIIMPORT_PROFILE": "one,two"}
SHOW = ["sh", "-c", "cat /of-one/file /of-two/file; env"]


class Person:
    """Somebody with profiles."""

    def __init__(self, site: Site, mpi: Mpi, identity: str = "user") -> None:
        self.site, self.identity = site, identity
        self.directory = site.workspace(identity)
        self.profiles = self.directory / "config" / "mpiimport" / "profiles"
        self.profiles.mkdir(parents=True)
        (self.directory / "file").write_text("seen\n")
        for name, text in PARTS.items():
            path = self.profiles / f"{name}.yaml"
            path.write_text(HEAD.format(name) + text.replace("DATA", str(self.directory)))
        cell = Cell("shim", "sandbox", identity, "hybrid", "mpich")
        self.environment = site.environment(cell, mpi, XDG_CONFIG_HOME=str(self.directory / "config"))
        self.image = str(site.images / "py")

    def run(self, *command: str, **variables: str) -> Outcome:
        line = self.site.as_identity(self.identity, list(command))
        return run(line, self.environment | variables, 120, self.directory)


@pytest.fixture
def person(site: Site, mpich: Mpi) -> Person:
    return Person(site, mpich)


def seen(outcome: Outcome) -> dict[str, str]:
    assert outcome.status == 0, outcome.stderr
    assert outcome.stdout.startswith("seen\nseen\n"), outcome.stdout
    found = dict(line.split("=", 1) for line in outcome.stdout.splitlines() if "=" in line)
    return {name: found[name] for name in TOGETHER if name in found}


@pytest.mark.parametrize("entry_point", ["shim", "plugin"])
@pytest.mark.parametrize("way", ["flag", "variable", "files"])
def test_apptainer(person: Person, entry_point: str, way: str) -> None:
    prefix = person.site.prefix
    runtime = str(plugin.runtime(prefix) if entry_point == "plugin" else prefix / "shim" / "apptainer")
    asked = ",".join(f"{person.profiles}/{name}.yaml" for name in ("one", "two")) if way == "files" else "one,two"
    flag = "--mpiimport" if way == "variable" else f"--mpiimport={asked}"
    variables = {"MPIIMPORT_PROFILE": "one,two"} if way == "variable" else {}
    assert seen(person.run(runtime, "exec", flag, person.image, *SHOW, **variables)) == TOGETHER


def test_one_that_extends_several_decides_between_them(person: Person) -> None:
    shim = str(person.site.prefix / "shim" / "apptainer")
    outcome = person.run(shim, "exec", "--mpiimport=both", person.image, *SHOW)
    assert seen(outcome) == {"A": "both", "B": "two", "MPIIMPORT_PROFILE": "both"}


@pytest.mark.parametrize("entry_point", ["shim", "plugin", "run", "exec"])
def test_what_contradicts_starts_nothing_and_shows_both_places(person: Person, entry_point: str) -> None:
    prefix = person.site.prefix
    apptainer = str(plugin.runtime(prefix) if entry_point == "plugin" else prefix / "shim" / "apptainer")
    mpiimport = str(prefix / "bin" / "mpiimport")
    lines = {
        "run": [mpiimport, "run", "--profile", "one,other", "--", "echo", "ran"],
        "exec": [mpiimport, "exec", "--profile", "one,other", person.image, "echo", "ran"],
    }
    outcome = person.run(
        *lines.get(entry_point, [apptainer, "exec", "--mpiimport=one,other", person.image, "echo", "ran"])
    )
    assert (outcome.status, outcome.stdout) == (2, "")
    assert f"{person.profiles}/one.yaml:4: environment.set.A: one\n" in outcome.stderr
    assert f"{person.profiles}/other.yaml:4: environment.set.A: other\n" in outcome.stderr


def test_run_and_exec(person: Person) -> None:
    mpiimport = str(person.site.prefix / "bin" / "mpiimport")
    exec_line = [mpiimport, "exec", "--profile", "one,two", person.image, *SHOW]
    run_line = [mpiimport, "run", "--profile=one,two", "--", "apptainer", "exec", person.image, *SHOW]
    assert seen(person.run(*exec_line)) == seen(person.run(*run_line)) == TOGETHER


def test_exec_in_an_image_of_docker(site: Site, mpich: Mpi) -> None:
    make_docker_images(site)
    person = Person(site, mpich, "root")
    # The paths of files may be relative.
    asked = "config/mpiimport/profiles/one.yaml,two"
    command = [str(site.prefix / "bin" / "mpiimport"), "exec", "--profile", asked, "--network=none", PLAIN, *SHOW]
    assert seen(person.run(*command, PATH=os.environ["PATH"], DOCKER_HOST=site.docker.host)) == TOGETHER


def test_the_hook_serves_several_if_each_is_released(site: Site, mpich: Mpi) -> None:
    profiles = [site.prefix / "profiles" / f"hook-{name}.yaml" for name in ("one", "two")]
    plan = str(site.prefix / "bin" / "mpiimport-plan")
    environment = podman.environment(site, Cell("oci_hook", "oci", "root", "contained", "mpich"), mpich)
    # podman 4 reads the option as a line of CSV.
    annotation = ("--annotation", '"org.mpiimport.profile=hook-one,hook-two"')
    command = ["podman", "--hooks-dir", str(hooks(site.prefix)), "run", *podman.RUN_OPTIONS, *annotation]

    def inside() -> dict[str, str]:
        script = ["sh", "-c", "echo A=$A B=$B PROFILE=$MPIIMPORT_PROFILE"]
        outcome = run([*command, podman.IMAGE, *script], environment, directory=Path("/"))
        assert outcome.status == 0, outcome.stderr
        return dict(word.split("=") for word in outcome.stdout.split())

    try:
        for path, variable in zip(profiles, "AB", strict=True):
            path.write_text(HEAD.format(path.stem) + f"environment: {{set: {{{variable}: '1'}}}}\n")
        assert run([plan, "release", "hook-one,hook-two"], {}, 60, Path("/")).status == 2
        assert run([plan, "release", "hook-one"], {}, 60, Path("/")).status == 0
        assert inside() == {"A": "", "B": "", "PROFILE": ""}
        assert run([plan, "release", "hook-two"], {}, 60, Path("/")).status == 0
        assert inside() == {"A": "1", "B": "1", "PROFILE": "hook-one,hook-two"}
    finally:
        run([plan, "withdraw", "hook-one", "hook-two"], {}, 60, Path("/"))
        for path in profiles:
            path.unlink()


def test_a_device_has_one_name(person: Person) -> None:
    refused = person.run(str(person.site.prefix / "bin" / "mpiimport-plan"), "cdi", "--profile", "one,two")
    assert (refused.status, refused.stdout) == (2, "")
    assert "write a profile that extends these" in refused.stderr


@pytest.mark.parametrize("part", ["gpu-nvidia", "gpu-amd"])
def test_a_part_for_a_gpu_that_is_not_there_stops_nothing(person: Person, part: str) -> None:
    shim = str(person.site.prefix / "shim" / "apptainer")
    outcome = person.run(shim, "exec", f"--mpiimport=one,two,{part}", person.image, *SHOW)
    assert seen(outcome)["MPIIMPORT_PROFILE"] == f"one,two,{part}"
    assert outcome.ours() == []
