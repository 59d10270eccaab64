"""Where no profile is named, every entry point takes the site's default.yaml if there is one."""

import json
import os
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome, run
from tests.containers.cells import Cell, Site
from tests.containers.entry_points import plugin
from tests.containers.entry_points.entrypoint import PLAIN, SERVED, make_docker_images

DEFAULT = "/etc/mpiimport/profiles.d/default.yaml"
TEXT = """\
schema_version: 1
name: default
description: The site's.
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


class Machine:
    """A machine with a site's default.yaml, and what a person calls there."""

    def __init__(self, site: Site, mpi: Mpi, identity: str) -> None:
        self.site = site
        self.identity = identity
        self.directory = site.workspace(identity)
        cell = Cell("person", "sandbox", identity, "hybrid", "mpich")
        self.environment = site.environment(cell, mpi, XDG_CONFIG_HOME=str(self.directory / "config"))
        self.shim = str(site.prefix / "shim" / "apptainer")
        self.image = str(site.images / "py")
        # Further profiles of the site's, by their files.
        self.others: dict[str, str] = {}

    def program(self, name: str) -> str:
        return str(self.site.prefix / "bin" / name)

    def run(self, *words: str, text: str | None = TEXT, **variables: str) -> Outcome:
        line = self.site.as_identity(self.identity, list(words))
        files = self.others | ({DEFAULT: text} if text is not None else {})
        if files:
            written = [word for file in files.items() for word in file]
            line = ["unshare", "-m", "sh", "-c", WITH_DEFAULT, "sh", *written, "--", *line]
        return run(line, self.environment | variables, 120, self.directory)

    def others_are(self, **texts: str) -> None:
        for name, text in texts.items():
            path = DEFAULT.replace("default", name.replace("_", "-"))
            self.others[path] = f"schema_version: 1\nname: {Path(path).stem}\ndescription: A test.\n{text}\n"

    def own(self, name: str, text: str) -> Path:
        path = self.directory / "config" / "mpiimport" / "profiles" / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"schema_version: 1\nname: {name}\ndescription: A test.\n{text}\n")
        return path


@pytest.fixture
def machine(site: Site, mpich: Mpi) -> Machine:
    return Machine(site, mpich, "user")


@pytest.fixture
def root(site: Site, mpich: Mpi) -> Machine:
    return Machine(site, mpich, "root")


def seen(outcome: Outcome) -> dict[str, str]:
    assert outcome.status == 0, outcome.stderr
    found = dict(line.split("=", 1) for line in outcome.stdout.splitlines() if "=" in line)
    names = ("SITE", "LIST", "MPIIMPORT_PROFILE", "MPIIMPORT_STORE_SIZE")
    return {name: found[name] for name in names if name in found}


APPLIED = {"SITE": "default", "LIST": "/site", "MPIIMPORT_PROFILE": "default", "MPIIMPORT_STORE_SIZE": "1GiB"}


@pytest.mark.parametrize("entry_point", ["shim", "plugin"])
@pytest.mark.parametrize(
    ("flags", "variables", "expected"),
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
    machine: Machine, entry_point: str, flags: list[str], variables: dict[str, str], expected: dict[str, str]
) -> None:
    runtime = machine.shim if entry_point == "shim" else str(plugin.runtime(machine.site.prefix))
    assert seen(machine.run(runtime, "exec", *flags, machine.image, "env", **variables)) == expected


def test_run_takes_it_once_for_all_containers(root: Machine) -> None:
    # A start that looked for it would find none.
    forgetting = ["sh", "-c", f'rm {DEFAULT} && exec "$@"', "sh"]
    words = [root.program("mpiimport"), "run", "--", *forgetting, "apptainer", "exec", root.image, "env"]
    assert seen(root.run(*words)) == APPLIED


def test_exec(machine: Machine, root: Machine) -> None:
    command = [machine.program("mpiimport"), "exec"]
    assert seen(machine.run(*command, machine.image, "env")) == APPLIED
    make_docker_images(root.site)
    words = [*command, "--network=none", PLAIN, "env"]
    assert seen(root.run(*words, PATH=os.environ["PATH"], DOCKER_HOST=root.site.docker.host)) == APPLIED


def test_the_entry_of_an_image(root: Machine) -> None:
    make_docker_images(root.site)
    file = root.directory / "default.yaml"
    file.write_text(TEXT)
    docker = {"PATH": os.environ["PATH"], "DOCKER_HOST": root.site.docker.host}
    line = ["docker", "run", "--rm", "--network=none"]
    has, unnamed = f"--volume={file}:{DEFAULT}", "--env=MPIIMPORT_PROFILE="
    assert seen(root.run(*line, has, unnamed, SERVED, "env", text=None, **docker)) == APPLIED
    assert seen(root.run(*line, unnamed, SERVED, "env", text=None, **docker)) == {"MPIIMPORT_PROFILE": ""}
    # The image itself names one.
    assert seen(root.run(*line, has, SERVED, "env", text=None, **docker)) == {"MPIIMPORT_PROFILE": "mpich"}


def test_the_entry_on_the_host_applies_it_once(machine: Machine) -> None:
    entry = machine.program("mpiimport-entry")
    assert seen(machine.run(entry, entry, "env", MPIIMPORT="1")) == APPLIED
    assert seen(machine.run(entry, "env", MPIIMPORT="0")) == {}


def test_a_persons_own_masks_it_as_far_as_its_locks_allow(machine: Machine) -> None:
    path = machine.own("default", "extends: default\nenvironment: {set: {SITE: mine}}")
    command = [machine.shim, "exec", "--mpiimport", machine.image, "env"]
    assert seen(machine.run(*command)) == APPLIED | {"SITE": "mine"}
    path.write_text(path.read_text() + "service: {store_size: 2GiB}\n")
    passed_over = machine.run(*command)
    # The site's is the next one.
    assert seen(passed_over) == APPLIED
    assert f"changes service.store_size, which {DEFAULT} locks" in passed_over.stderr
    refused = machine.run(*[word.replace("--mpiimport", "--mpiimport=default") for word in command])
    assert (refused.status, refused.stdout) == (2, "")
    assert f"changes service.store_size, which {DEFAULT} locks" in refused.stderr


BROKEN = TEXT.replace("set:", "sett:")


def test_a_mistake_in_it_ends_only_a_launch_that_names_it(machine: Machine) -> None:
    start = [machine.shim, "exec"]
    named = machine.run(*start, "--mpiimport=default", machine.image, "env", text=BROKEN)
    assert (named.status, named.stdout) == (2, "")
    assert f"mpiimport: {DEFAULT}:5: environment has no key" in named.stderr
    found = machine.run(*start, "--mpiimport", machine.image, "env", text=BROKEN)
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
@pytest.mark.parametrize("entry_point", ["shim", "plugin", "run", "exec", "entry"])
def test_a_broken_file_of_the_sites_ends_no_launch(root: Machine, entry_point: str, broken: str, why: str) -> None:
    mounts = "mounts" in broken
    root.others_are(a_gpu=broken, b_one="environment: {set: {A: '1'}}", b_two="environment: {set: {A: '2'}}")
    command = {
        "shim": [root.shim, "exec", "--mpiimport", root.image, "env"],
        "plugin": [str(plugin.runtime(root.site.prefix)), "exec", "--mpiimport", root.image, "env"],
        "run": [root.program("mpiimport"), "run", "--", "apptainer", "exec", root.image, "env"],
        "exec": [root.program("mpiimport"), "exec", root.image, "env"],
        "entry": [root.program("mpiimport-entry"), "env"],
    }[entry_point]
    outcome = root.run(*command, **({"MPIIMPORT": "1"} if entry_point == "entry" else {}))
    if entry_point == "entry" and mounts:
        # Mounts are for those who start containers.
        assert (outcome.status, outcome.stderr) == (0, "")
        return
    expected = {"MPIIMPORT_PROFILE": "default"} if mounts else APPLIED
    assert seen(outcome) == expected
    assert len(outcome.stderr.splitlines()) == 1, outcome.stderr
    (line,) = outcome.stderr.splitlines()
    assert why.removeprefix("site/") in line
    silent = root.run(*command, MPIIMPORT="1", PMI_RANK="1", PMI_SIZE="2")
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
    for flag, expected in (("--mpiimport", APPLIED), ("--mpiimport=mpich", {"MPIIMPORT_PROFILE": "mpich"})):
        outcome = machine.run(machine.shim, "exec", flag, "--no-home", machine.image, "env", HOME=home)
        assert seen(outcome) == expected


@pytest.mark.parametrize(
    ("text", "variables", "head"),
    [
        (TEXT, {}, f"# default, for nothing else is named: {DEFAULT}"),
        (None, {}, "# default, for nothing else is named: built in, changes nothing"),
        (TEXT, {"MPIIMPORT_PROFILE": "mpich"}, "# mpich, which MPIIMPORT_PROFILE names: PREFIX/profiles/mpich.yaml"),
    ],
    ids=["the site's", "built in", "by variable"],
)
def test_show_says_what_is_taken_where_none_is_named_and_why(
    machine: Machine, text: str | None, variables: dict[str, str], head: str
) -> None:
    command = [machine.program("mpiimport"), "profile", "show"]
    outcome = machine.run(*command, "--provenance", text=text, **variables)
    assert outcome.status == 0, outcome.stderr
    first, *rest = outcome.stdout.splitlines()
    assert first == head.replace("PREFIX", str(machine.site.prefix))
    named = machine.run(*command, "--provenance", variables.get("MPIIMPORT_PROFILE", "default"), text=text)
    assert named.stdout.splitlines() == rest
    assert (f"environment.set.SITE: default  # {DEFAULT}:5" in rest) == (text is not None and not variables)


def test_a_plan_names_its_file(machine: Machine) -> None:
    outcome = machine.run(machine.program("mpiimport-plan"), "show", "python")
    assert json.loads(outcome.stdout)["files"] == [DEFAULT]


GPU = "when: {partition: ['gpu*']}\nextends: mpich\nenvironment: {set: {SITE: gpu}}"
HOST = "when: {hosts: ['HOST']}\nenvironment: {set: {SITE: host}}"
KIND = "when: {variables: {KIND: big}}\nenvironment: {set: {SITE: kind}}"


@pytest.mark.parametrize("entry_point", ["shim", "plugin"])
@pytest.mark.parametrize(
    ("flag", "variables", "taken", "value"),
    [
        ("--mpiimport", {}, "default", "default"),
        ("--mpiimport", {"SLURM_JOB_PARTITION": "gpu-a100", "KIND": "big"}, "a-gpu", "gpu"),
        ("--mpiimport", {"LSB_QUEUE": "cpu", "KIND": "big"}, "c-kind", "kind"),
        ("--mpiimport=default", {"PBS_QUEUE": "gpu"}, "default", "default"),
        ("--mpiimport", {"PBS_QUEUE": "gpu", "MPIIMPORT_PROFILE": "c-kind"}, "c-kind", "kind"),
    ],
)
def test_the_first_of_the_sites_profiles_that_fits_is_taken(
    machine: Machine, entry_point: str, flag: str, variables: dict[str, str], taken: str, value: str
) -> None:
    machine.others_are(a_gpu=GPU, b_host=HOST, c_kind=KIND, d_plain="")
    runtime = machine.shim if entry_point == "shim" else str(plugin.runtime(machine.site.prefix))
    found = seen(machine.run(runtime, "exec", flag, machine.image, "env", **variables))
    assert (found["MPIIMPORT_PROFILE"], found["SITE"]) == (taken, value)


def test_other_entry_points_take_the_one_that_fits_too(machine: Machine, root: Machine, tmp_path: Path) -> None:
    machine.others_are(b_host=HOST.replace("HOST", os.uname().nodename))
    root.others = machine.others
    command = [machine.program("mpiimport"), "exec", machine.image, "env"]
    assert seen(machine.run(*command))["SITE"] == "host"
    assert seen(machine.run(machine.program("mpiimport-entry"), "env", MPIIMPORT="1"))["SITE"] == "host"
    # A start that looked for it would find none.
    forgetting = ["sh", "-c", f'rm {" ".join(machine.others)} && exec "$@"', "sh"]
    words = [root.program("mpiimport"), "run", "--", *forgetting, "apptainer", "exec", root.image, "env"]
    assert seen(root.run(*words))["SITE"] == "host"
    make_docker_images(root.site)
    (file,) = root.others
    (tmp_path / "b-host.yaml").write_text(KIND.join(["schema_version: 1\nname: b-host\ndescription: d\n", "\n"]))
    docker = {"PATH": os.environ["PATH"], "DOCKER_HOST": root.site.docker.host}
    line = ["docker", "run", "--rm", "--network=none", f"--volume={tmp_path}/b-host.yaml:{file}"]
    line += ["--env=MPIIMPORT_PROFILE=", "--env=KIND=big", SERVED, "env"]
    expected = {"SITE": "kind", "MPIIMPORT_PROFILE": "b-host"}
    assert seen(root.run(*line, text=None, **docker)) == expected


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
