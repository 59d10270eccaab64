"""Bad input at each entry point is a clear error before anything starts or is written, or changes nothing."""

import json
import shutil
import zlib
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome
from tests.conftest import ROOT, write_profile
from tests.containers.cells import Site

# What each entry point ends with where it refuses.
STATUS = {"shim": 2, "plugin": 2, "exec": 2, "run": 2, "hook": 1, "device": 2, "export": 1, "entrypoint": 2}
EXPORT = "profile export --cdi --output"
# What the file of a profile says, and the reason for which it is refused.
PROFILES = {
    "unknown": (None, 'there is no profile "unknown"'),
    "malformed": ("mounts: [\n", "malformed.yaml:4: this is not YAML"),
    "mistyped": ("mounts: none\n", "mistyped.yaml:4: mounts must be a list"),
    "misnamed": ("mount: []\n", 'misnamed.yaml:4: the profile has no key "mount"; did you mean mounts?'),
    "incomplete": ("mounts: [{source: /no/such/place}]\n", "the mount source /no/such/place does not exist"),
    "circular": ("extends: circular\n", 'there is no profile "circular"'),
}
# Mounts are for whoever starts the container that the entrypoint runs in.
HARMLESS = {("entrypoint", "incomplete")}
CELLS = [(entry_point, profile) for entry_point in STATUS for profile in PROFILES]


@dataclass
class Machine:
    """A machine with broken profiles, in a person's directory and in the prefix that the hook lies in."""

    site: Site
    mpi: Mpi
    directory: Path

    def __post_init__(self) -> None:
        self.hooks = self.directory / "prefix"
        self.written = self.directory / "device.json"
        for place in (self.directory / "config" / "mpiimport" / "profiles", self.hooks / "profiles"):
            for name, (text, _) in PROFILES.items():
                if text is not None:
                    write_profile(place / f"{name}.yaml", text)
        shutil.copy2(self.site.prefix / "profiles" / "mpich.yaml", self.hooks / "profiles")
        released = "".join(f"  {name}: {{}}\n" for name in (*PROFILES, "mpich"))
        (self.hooks / "etc").mkdir()
        (self.hooks / "etc" / "hook.yaml").write_text(f"released:\n{released}")
        (self.hooks / "bin").mkdir()
        shutil.copy2(self.site.prefix / "bin" / "mpiimport-hook", self.hooks / "bin")

    def line(self, entry_point: str, profile: str | None, image: Path | None = None) -> list[str | Path]:
        """A start of ``echo ran`` by an entry point; ``profile``: None where the environment asks."""
        binaries, says = self.site.prefix / "bin", ["echo", "ran"]
        asked = ["--profile", profile] if profile else []
        flag = [f"--mpiimport={profile}"] if profile else []
        container: list[str | Path] = ["exec", *flag, image or self.site.images / "py", *says]
        config = self.directory / "config.json"
        document = {
            "ociVersion": "1.0.2",
            "annotations": {"org.mpiimport.profile": profile or "default"},
            "process": {"args": says},
        }
        config.write_text(json.dumps(document))
        lines: dict[str, list[str | Path]] = {
            "shim": [self.site.apptainer(), *container],
            "plugin": [self.site.apptainer("plugin") if entry_point == "plugin" else "", *container],
            "exec": [self.site.tool, "exec", *asked, image or self.site.images / "py", *says],
            "run": [self.site.tool, "run", *asked, "--", *says],
            "hook": ["sh", "-c", 'exec "$0" precreate <"$1"', self.hooks / "bin" / "mpiimport-hook", config],
            "device": [binaries / "mpiimport-plan", "cdi", *asked, "--output", self.written],
            "export": [self.site.tool, *EXPORT.split(), self.written, profile or "default"],
            "entrypoint": [binaries / "mpiimport-entry", *says],
        }
        return lines[entry_point]

    def start(self, entry_point: str, profile: str | None, **environment: str) -> Outcome:
        if entry_point == "entrypoint" and profile:
            environment["MPIIMPORT_PROFILE"] = profile
        return self.run(self.line(entry_point, profile), "root", MPIIMPORT="1", **environment)

    def run(self, line: list[str | Path], identity: str, **environment: str) -> Outcome:
        settings = {"XDG_CONFIG_HOME": str(self.directory / "config"), **environment}
        return self.site.run(line, self.mpi, identity, **settings)


@pytest.fixture
def machine(site: Site, mpich: Mpi) -> Machine:
    return Machine(site, mpich, site.workspace("root"))


@pytest.mark.parametrize(("entry_point", "profile"), CELLS, ids=map("-".join, CELLS))
def test_a_broken_profile_stops_an_entry_point_before_anything_starts(
    machine: Machine, entry_point: str, profile: str
) -> None:
    machine.written.write_text("as before")
    outcome = machine.start(entry_point, profile)
    if (entry_point, profile) in HARMLESS:
        assert (outcome.status, outcome.stdout) == (0, "ran\n")
        return
    assert (outcome.status, outcome.stdout) == (STATUS[entry_point], "")
    (said,) = outcome.stderr.splitlines()
    assert said.startswith("mpiimport") and PROFILES[profile][1] in said
    assert machine.written.read_text() == "as before"


def test_an_image_that_cannot_be_opened_ends_as_it_does_without_us(machine: Machine) -> None:
    closed, garbage, hidden = (machine.directory / name for name in ("closed.sif", "garbage.sif", "hidden"))
    for image in (closed, garbage):
        image.write_text("no image")
    closed.chmod(0)
    hidden.mkdir(mode=0o700)
    for image in (closed, garbage, hidden / "image.sif"):
        plain = machine.run([machine.site.runtime, "exec", image, "echo", "ran"], "user")
        assert plain.status not in (0, None) and plain.stderr.startswith("FATAL:")
        for entry_point in ("shim", "plugin", "exec"):
            outcome = machine.run(machine.line(entry_point, "mpich", image), "user")
            assert outcome == plain, entry_point


def carried(prefix: str | Path, plan: str) -> str:
    """A plan as the job's launcher leaves it in the environment; ``prefix``: where mpiimport is installed."""
    shared = f'{{"plan": {plan}}}'
    key = {"prefix": str(prefix), "profile": "", "user_namespace": False}
    return f'{{"version": 2, "key": {json.dumps(key)}, "sum": {zlib.crc32(shared.encode())}, "shared": {shared}}}'


# None: the command runs.
HOSTILE: list[tuple[dict[str, str], str | None]] = [
    ({"MPIIMPORT_PROFILE": "../../../etc/passwd"}, "/etc/passwd:1: the profile must be a mapping"),
    ({"MPIIMPORT_PROFILE": "/dev/zero"}, "/dev/zero: it is no regular file"),
    ({"MPIIMPORT_PROFILE": "/proc/self/environ"}, "/proc/self/environ: this is not YAML"),
    ({"MPIIMPORT_PROFILE": "x\n;id"}, r'"x\n;id" cannot be the name of a profile'),
    ({"MPIIMPORT_PROFILE": "\udcff"}, r'"\xff" cannot be the name of a profile'),
    ({"MPIIMPORT_PROFILE": "a" * 100_000}, '..." (100000 characters) cannot be the name of a profile'),
    ({"_MPIIMPORT_PLAN": '{"'}, None),
    ({"_MPIIMPORT_PLAN": carried("/elsewhere", '{"mounts": [{"source": "/no", "target": "/.mpiimport"}]}')}, None),
    ({"_MPIIMPORT_PLAN": carried(ROOT / "build" / "prefix", '{"mounts": 5}')}, None),
    ({"MPIIMPORT_RANK_VARIABLES": ":=:\n:::"}, None),
    ({"MPIIMPORT_READERS": "-1", "MPIIMPORT_STORE": "$(id)", "MPIIMPORT_DEADLINE": "soon"}, None),
    ({"_MPIIMPORT_UNSET": ":=:\n:", "_MPIIMPORT_PID": "first", "_MPIIMPORT_START": "late"}, None),
    ({"XDG_CONFIG_HOME": "../..", "HOME": ""}, None),
    ({"XDG_CONFIG_HOME": "/dev/null", "MPIIMPORT_PROFILE": "default"}, None),
]


@pytest.mark.parametrize("entry_point", ("shim", "plugin", "exec", "run", "entrypoint"))
def test_a_hostile_environment_is_refused_or_changes_nothing(machine: Machine, entry_point: str) -> None:
    for hostile, reason in HOSTILE:
        outcome = machine.run(machine.line(entry_point, None), "root", MPIIMPORT="1", **hostile)
        if reason is None:
            assert outcome == Outcome(0, "ran\n", ""), hostile
        else:
            assert (outcome.status, outcome.stdout) == (STATUS[entry_point], ""), hostile
            (said,) = outcome.stderr.splitlines()
            assert reason in said and len(said) < 400


@pytest.mark.parametrize("mode", ["yes", "2", " 1"])
def test_an_odd_switch_is_refused_or_leaves_the_start_as_it_is(machine: Machine, mode: str) -> None:
    for entry_point in ("shim", "plugin", "entrypoint"):
        outcome = machine.run(machine.line(entry_point, None), "root", MPIIMPORT=mode)
        assert (outcome.status, outcome.stdout) == (0, "ran\n")
        assert all("is none of 0, 1, force" in line for line in outcome.ours())
    for entry_point in ("exec", "run"):
        outcome = machine.run(machine.line(entry_point, None), "root", MPIIMPORT=mode)
        assert (outcome.status, outcome.stdout) == (2, "") and "is none of 0, 1, force" in outcome.stderr


def test_a_device_and_a_hook_hear_nothing_of_the_environment(machine: Machine) -> None:
    for entry_point in ("hook", "device"):
        said = set()
        for hostile in ({}, {"MPIIMPORT_STORE": "/evil", "_MPIIMPORT_PLAN": "{}", "HOME": "/evil"}):
            outcome = machine.run(machine.line(entry_point, "mpich"), "root", **hostile)
            assert outcome.status == 0, outcome.stderr
            said.add(machine.written.read_text() if entry_point == "device" else outcome.stdout)
        assert len(said) == 1 and "/evil" not in said.pop()
