"""Where no profile is named, every entry point takes the site's default.yaml if there is one."""

import json
import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome, run
from tests.containers.cells import Site
from tests.containers.person import HEAD, Person, variables

DEFAULT = "/etc/mpiimport/profiles.d/default.yaml"
TEXT = """\
schema_version: 1
name: default
description: a test
environment:
  set: {SITE: default}
  append: {LIST: /site}
service: {store_size: 1GiB}
lock: [service.store_size]
"""
# A view of the machine whose /etc has the profile; nobody else sees it.
WITH_DEFAULT = """
layers=$(mktemp -d) && mount -t tmpfs tmpfs "$layers" && mkdir "$layers/upper" "$layers/work" &&
mount -t overlay -o "lowerdir=/etc,upperdir=$layers/upper,workdir=$layers/work" overlay /etc &&
umount -l "$layers" && rmdir "$layers" || exit
while [ "$1" != -- ]; do mkdir -p "${1%/*}" && printf %s "$2" >"$1" && shift 2 || exit; done; shift; exec "$@"
"""


class Machine(Person):
    """A machine with a site's default.yaml, and what a person calls there."""

    def __init__(self, site: Site, mpi: Mpi, identity: str) -> None:
        super().__init__(site, mpi, identity)
        self.text: str | None = TEXT
        # Further profiles of the site's, by their files.
        self.others: dict[str, str] = {}

    def run(self, *command: str | Path, **changes: str) -> Outcome:
        line = self.site.as_identity(self.identity, [str(word) for word in command])
        files = self.others | ({DEFAULT: self.text} if self.text is not None else {})
        if files:
            written = [word for file in files.items() for word in file]
            line = ["unshare", "-m", "sh", "-c", WITH_DEFAULT, "sh", *written, "--", *line]
        return run(line, self.environment | changes, 120, self.directory)

    def others_are(self, **texts: str) -> None:
        for name, text in texts.items():
            name = name.replace("_", "-")
            self.others[DEFAULT.replace("default", name)] = HEAD.format(name) + text + "\n"


@pytest.fixture
def machine(site: Site, mpich: Mpi) -> Machine:
    return Machine(site, mpich, "user")


@pytest.fixture
def root(site: Site, mpich: Mpi) -> Machine:
    return Machine(site, mpich, "root")


def seen(outcome: Outcome) -> dict[str, str]:
    return variables(outcome, ("SITE", "LIST", "MPIIMPORT_PROFILE", "MPIIMPORT_STORE_SIZE"))


APPLIED = {"SITE": "default", "LIST": "/site", "MPIIMPORT_PROFILE": "default", "MPIIMPORT_STORE_SIZE": "1GiB"}


@pytest.mark.parametrize("entry_point", ["shim", "plugin"])
@pytest.mark.parametrize(
    ("flags", "changes", "expected"),
    [
        (["--mpiimport"], {}, APPLIED),
        (["--mpiimport=1"], {}, APPLIED),
        ([], {"MPIIMPORT": "1"}, APPLIED),
        (["--mpiimport=default"], {}, APPLIED),
        (["--mpiimport=mpich"], {}, {"MPIIMPORT_PROFILE": "mpich"}),
        (["--mpiimport"], {"MPIIMPORT_PROFILE": "mpich"}, {"MPIIMPORT_PROFILE": "mpich"}),
        (["--mpiimport"], {"MPIIMPORT": "0"}, {}),
        ([], {}, {}),
    ],
    ids=["flag", "truth value", "variable", "by name", "another", "another by variable", "off", "not asked"],
)
def test_apptainer(
    machine: Machine, entry_point: str, flags: list[str], changes: dict[str, str], expected: dict[str, str]
) -> None:
    line = [machine.site.apptainer(entry_point), "exec", *flags, machine.image, "env"]
    assert seen(machine.run(*line, **changes)) == expected


def without(files: Iterable[str]) -> list[str]:
    """A launcher on a machine that has lost files: a start that looked for one would find none."""
    return ["sh", "-c", f'rm {" ".join(files)} && exec "$@"', "sh"]


def test_run_takes_it_once_for_all_containers(root: Machine) -> None:
    assert seen(root.start("run", "", "env", options=without([DEFAULT]))) == APPLIED


def test_exec(machine: Machine, root: Machine) -> None:
    assert seen(machine.start("exec", "", "env")) == APPLIED
    assert seen(root.start("docker", "", "env")) == APPLIED


def test_the_entry_of_an_image(root: Machine) -> None:
    file = root.directory / "default.yaml"
    file.write_text(TEXT)
    root.text = None
    has, unnamed = f"--volume={file}:{DEFAULT}", "--env=MPIIMPORT_PROFILE="
    assert seen(root.start("entry", "", "env", options=[has, unnamed])) == APPLIED
    assert seen(root.start("entry", "", "env", options=[unnamed])) == {"MPIIMPORT_PROFILE": ""}
    # The image itself names one.
    assert seen(root.start("entry", "", "env", options=[has])) == {"MPIIMPORT_PROFILE": "mpich"}


def test_the_entry_on_the_host_applies_it_once(machine: Machine) -> None:
    entry = machine.program("mpiimport-entry")
    assert seen(machine.run(entry, entry, "env", MPIIMPORT="1")) == APPLIED
    assert seen(machine.run(entry, "env", MPIIMPORT="0")) == {}


def test_a_persons_own_masks_it_as_far_as_its_locks_allow(machine: Machine) -> None:
    path = machine.profile("default", "extends: default\nenvironment: {set: {SITE: mine}}\n")
    assert seen(machine.start("shim", "", "env")) == APPLIED | {"SITE": "mine"}
    path.write_text(path.read_text() + "service: {store_size: 2GiB}\n")
    passed_over = machine.start("shim", "", "env")
    # The site's is the next one.
    assert seen(passed_over) == APPLIED
    assert f"changes service.store_size, which {DEFAULT} locks" in passed_over.stderr
    refused = machine.start("shim", "default", "env")
    assert (refused.status, refused.stdout) == (2, "")
    assert f"changes service.store_size, which {DEFAULT} locks" in refused.stderr


def test_a_mistake_in_it_ends_only_a_launch_that_names_it(machine: Machine) -> None:
    machine.text = TEXT.replace("set:", "sett:")
    named = machine.start("shim", "default", "env")
    assert (named.status, named.stdout) == (2, "")
    assert f"mpiimport: {DEFAULT}:5: environment has no key" in named.stderr
    found = machine.start("shim", "", "env")
    assert seen(found) == {"MPIIMPORT_PROFILE": "default"}
    (line,) = found.stderr.splitlines()
    assert line.startswith(
        f"mpiimport: a profile that nobody named is passed over: {DEFAULT}:5: environment has no key"
    )


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        ("when: {hots: [x]}", "site/a-gpu.yaml:4: when has no key"),
        ("when: {hosts: ['*']}\nextends: lost", 'there is no profile "lost"'),
        ("when: {hosts: ['*']}\nextends: [b-one, b-two]", "these two contradict each other"),
        ("when: {hosts: ['*']}\nmounts: [{source: /no/such/place}]", "the mount source /no/such/place does not exist"),
    ],
    ids=["no profile", "extends nothing", "contradicts itself", "not for this host"],
)
@pytest.mark.parametrize("entry_point", ["shim", "plugin", "run", "exec", "mpiimport-entry"])
def test_a_broken_file_of_the_sites_ends_no_launch(root: Machine, entry_point: str, broken: str, why: str) -> None:
    mounts = "mounts" in broken
    root.others_are(a_gpu=broken, b_one="environment: {set: {A: '1'}}", b_two="environment: {set: {A: '2'}}")

    def start(**changes: str) -> Outcome:
        if entry_point == "mpiimport-entry":
            return root.run(root.program(entry_point), "env", MPIIMPORT="1", **changes)
        return root.start(entry_point, "", "env", **changes)

    outcome = start()
    if entry_point == "mpiimport-entry" and mounts:
        # Mounts are for those who start containers.
        assert (outcome.status, outcome.stderr) == (0, "")
        return
    expected = {"MPIIMPORT_PROFILE": "default"} if mounts else APPLIED
    assert seen(outcome) == expected
    assert len(outcome.stderr.splitlines()) == 1, outcome.stderr
    (line,) = outcome.stderr.splitlines()
    assert why.removeprefix("site/") in line
    silent = start(PMI_RANK="1", PMI_SIZE="2")
    assert (silent.status, silent.stderr) == (0, "")


def test_those_who_keep_profiles_are_told_of_a_broken_one(machine: Machine) -> None:
    machine.others_are(a_gpu="when: {hots: [x]}")
    profile = [machine.program("mpiimport"), "profile"]
    file = DEFAULT.replace("default", "a-gpu")
    listed = machine.run(*profile, "list")
    assert listed.status == 1 and f"{file}:4: when has no key" in listed.stderr
    checked = machine.run(*profile, "check", file)
    assert checked.status == 1 and f"{file}:4: when has no key" in checked.stdout + checked.stderr
    detected = machine.run(*profile, "detect")
    assert f"{file}:4: when has no key" in detected.stdout + detected.stderr
    first, *_ = machine.run(*profile, "show", "--why").stdout.splitlines()
    assert first.startswith(f"# not a-gpu, it is broken: {file}:4: when has no key") and first.endswith(f": {file}")


@pytest.mark.parametrize("home", ["/dev/null", "/none", ""])
def test_a_person_without_a_home_gets_what_the_others_get(machine: Machine, home: str) -> None:
    del machine.environment["XDG_CONFIG_HOME"]
    for profile, expected in (("", APPLIED), ("mpich", {"MPIIMPORT_PROFILE": "mpich"})):
        outcome = machine.start("shim", profile, "env", options=["--no-home"], HOME=home)
        assert seen(outcome) == expected


@pytest.mark.parametrize(
    ("text", "changes", "head"),
    [
        (TEXT, {}, f"# default, for nothing else is named: {DEFAULT}"),
        (None, {}, "# default, for nothing else is named: built in, changes nothing"),
        (TEXT, {"MPIIMPORT_PROFILE": "mpich"}, "# mpich, which MPIIMPORT_PROFILE names: PREFIX/profiles/mpich.yaml"),
    ],
    ids=["the site's", "built in", "by variable"],
)
def test_show_says_what_is_taken_where_none_is_named_and_why(
    machine: Machine, text: str | None, changes: dict[str, str], head: str
) -> None:
    machine.text = text
    command = [machine.program("mpiimport"), "profile", "show", "--provenance"]
    outcome = machine.run(*command, **changes)
    assert outcome.status == 0, outcome.stderr
    first, *rest = outcome.stdout.splitlines()
    assert first == head.replace("PREFIX", str(machine.site.prefix))
    named = machine.run(*command, changes.get("MPIIMPORT_PROFILE", "default"))
    assert named.stdout.splitlines() == rest
    assert (f"environment.set.SITE: default  # {DEFAULT}:5" in rest) == (text is not None and not changes)


def test_a_plan_names_its_file(machine: Machine) -> None:
    outcome = machine.run(machine.program("mpiimport-plan"), "show", "python")
    assert json.loads(outcome.stdout)["files"] == [DEFAULT]


GPU = "when: {partition: ['gpu*']}\nextends: mpich\nenvironment: {set: {SITE: gpu}}"
HOST = "when: {hosts: ['HOST']}\nenvironment: {set: {SITE: host}}"
KIND = "when: {variables: {KIND: big}}\nenvironment: {set: {SITE: kind}}"


@pytest.mark.parametrize("entry_point", ["shim", "plugin"])
@pytest.mark.parametrize(
    ("named", "changes", "taken", "value"),
    [
        ("", {}, "default", "default"),
        ("", {"SLURM_JOB_PARTITION": "gpu-a100", "KIND": "big"}, "a-gpu", "gpu"),
        ("", {"LSB_QUEUE": "cpu", "KIND": "big"}, "c-kind", "kind"),
        ("default", {"PBS_QUEUE": "gpu"}, "default", "default"),
        ("", {"PBS_QUEUE": "gpu", "MPIIMPORT_PROFILE": "c-kind"}, "c-kind", "kind"),
    ],
)
def test_the_first_of_the_sites_profiles_that_fits_is_taken(
    machine: Machine, entry_point: str, named: str, changes: dict[str, str], taken: str, value: str
) -> None:
    machine.others_are(a_gpu=GPU, b_host=HOST, c_kind=KIND, d_plain="")
    found = seen(machine.start(entry_point, named, "env", **changes))
    assert (found["MPIIMPORT_PROFILE"], found["SITE"]) == (taken, value)


def test_other_entry_points_take_the_one_that_fits_too(machine: Machine, root: Machine, tmp_path: Path) -> None:
    machine.others_are(b_host=HOST.replace("HOST", os.uname().nodename))
    root.others = machine.others
    assert seen(machine.start("exec", "", "env"))["SITE"] == "host"
    assert seen(machine.run(machine.program("mpiimport-entry"), "env", MPIIMPORT="1"))["SITE"] == "host"
    assert seen(root.start("run", "", "env", options=without(root.others)))["SITE"] == "host"
    (file,) = root.others
    (tmp_path / "b-host.yaml").write_text(HEAD.format("b-host") + KIND + "\n")
    root.others, root.text = {}, None
    options = [f"--volume={tmp_path}/b-host.yaml:{file}", "--env=MPIIMPORT_PROFILE=", "--env=KIND=big"]
    expected = {"SITE": "kind", "MPIIMPORT_PROFILE": "b-host"}
    assert seen(root.start("entry", "", "env", options=options)) == expected


def test_show_says_why_the_others_are_not_taken(machine: Machine) -> None:
    machine.others_are(a_gpu=GPU, b_host=HOST, c_kind=KIND, d_plain="")
    command = [machine.program("mpiimport"), "profile", "show"]
    site = Path(DEFAULT).parent
    lines = machine.run(*command, "--why", KIND="big", PBS_QUEUE="cpu").stdout.splitlines()
    assert lines[:3] == [
        f'# not a-gpu, PBS_QUEUE is "cpu", and when.partition wants [gpu*] (line 4): {site}/a-gpu.yaml',
        f"# not b-host, this host is {os.uname().nodename}, and when.hosts wants [HOST] (line 4): {site}/b-host.yaml",
        f"# c-kind, all of its `when` fits: {site}/c-kind.yaml",
    ]
    assert "environment.set.SITE: kind" in lines
    assert machine.run(*command, KIND="big").stdout.splitlines()[0] == lines[2]
