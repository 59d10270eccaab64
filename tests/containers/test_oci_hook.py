"""The OCI hook on real podman: stages, runc and crun, root and rootless, broken profiles, what it asks for."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.containers.cells import IDENTITIES, Cell, Site
from tests.containers.doors import podman
from tests.containers.doors.oci_hook import hooks
from tests.lab.ranks import Mpi, Outcome, run
from tests.lab.syscalls import PATH

ANNOTATION = "org.mpiimport.profile"
SERVED = "print(type(__import__('numpy').__loader__).__name__)"
# What a caller sets where the hook can only mount.
BY_HAND = {
    "MPIIMPORT": "force",
    "MPIIMPORT_STORE": "/run/mpiimport",
    "PYTHONPATH": "/opt/mpiimport/lib/mpiimport/door",
}
RUNTIMES = [(runtime, identity) for runtime in ("runc", "crun") for identity in IDENTITIES]


class Podman:
    """podman with one hooks directory."""

    def __init__(self, site: Site, mpi: Mpi, directory: Path) -> None:
        self._site = site
        self._mpi = mpi
        self.directory = directory

    def run(
        self,
        *command: str,
        profile: str | None = "mpich",
        runtime: str = "runc",
        identity: str = "root",
        options: tuple[str, ...] = (),
        **variables: str,
    ) -> Outcome:
        words = ["podman", "--runtime", runtime, "--hooks-dir", str(self.directory), "run", *podman.RUN_OPTIONS]
        words += [*options, *(["--annotation", f"{ANNOTATION}={profile}"] if profile is not None else [])]
        words += [word for name, value in variables.items() for word in ("--env", f"{name}={value}")]
        cell = Cell("oci_hook", "oci", identity, "contained", "mpich")
        return run(
            self._site.as_identity(identity, [*words, podman.IMAGE, *command]),
            podman.environment(self._site, cell, self._mpi),
            directory=Path("/"),
        )

    def mpiexec(self, *program: str, **settings: str) -> Outcome:
        return self.run(
            *("/opt/mpich/bin/mpiexec", "-n", "2", "python3", *program),
            MPI4PY_LIBMPI="/opt/mpich/lib/libmpi.so.12",
            **settings,
        )

    def stage(self, stage: str, word: str) -> "Podman":
        """The same podman with a hook for ``stage`` that is told ``word``."""
        hook = {"path": str(self._site.prefix / "bin" / "mpiimport-hook"), "args": ["mpiimport-hook", word]}
        text = {"version": "1.0.0", "hook": hook, "when": {"always": True}, "stages": [stage]}
        (self.directory / "hook.json").write_text(json.dumps(text))
        return self


@pytest.fixture
def engine(site: Site, mpich: Mpi) -> Podman:
    return Podman(site, mpich, hooks(site.prefix))


@pytest.fixture
def own_hooks(site: Site, mpich: Mpi) -> Iterator[Podman]:
    """A podman with an empty hooks directory that every user can read."""
    directory = site.workspace("root")
    yield Podman(site, mpich, directory)
    for file in directory.iterdir():
        file.unlink()
    directory.rmdir()


@pytest.mark.parametrize(("runtime", "identity"), RUNTIMES)
def test_ranks_are_served_under_both_runtimes(engine: Podman, runtime: str, identity: str) -> None:
    outcome = engine.mpiexec("-c", SERVED, runtime=runtime, identity=identity, MPIIMPORT="force")
    assert outcome.lines() == ["StoreSourceLoader"] * 2, outcome.stderr
    assert outcome.ours() == []


def test_settings_can_bring_hook_and_annotation_to_every_container(site: Site, mpich: Mpi, own_hooks: Podman) -> None:
    settings = own_hooks.directory / "containers.conf"
    cell = Cell("oci_hook", "oci", "user", "contained", "mpich")
    environment = podman.environment(site, cell, mpich)
    text = Path(environment["CONTAINERS_CONF"]).read_text()
    text = text.replace("[engine]\n", f'[engine]\nhooks_dir = ["{hooks(site.prefix)}"]\n')
    settings.write_text(text.replace("[containers]\n", f'[containers]\nannotations = ["{ANNOTATION}=default"]\n'))
    words = ["podman", "run", *podman.RUN_OPTIONS, podman.IMAGE, "printenv", "MPIIMPORT"]
    outcome = run(site.as_identity("user", words), {**environment, "CONTAINERS_CONF": str(settings)})
    assert outcome.lines() == ["1"], outcome.stderr


def test_a_link_to_the_installed_hook_is_enough(site: Site, own_hooks: Podman) -> None:
    (own_hooks.directory / "mpiimport.json").symlink_to(hooks(site.prefix) / "mpiimport.json")
    assert own_hooks.run("printenv", "MPIIMPORT").lines() == ["1"]


@pytest.mark.parametrize(("runtime", "identity"), RUNTIMES)
def test_where_only_create_container_runs_the_mounts_are_there(
    engine: Podman, site: Site, runtime: str, identity: str
) -> None:
    engine.directory = hooks(site.prefix, "cri-o")
    outcome = engine.mpiexec("-c", SERVED, runtime=runtime, identity=identity, **BY_HAND)
    assert outcome.lines() == ["StoreSourceLoader"] * 2, outcome.stderr


def test_mounts_at_create_container_are_as_the_plan_says(engine: Podman, site: Site) -> None:
    engine.directory = hooks(site.prefix, "cri-o")
    outcome = engine.run("sh", "-c", "touch /opt/mpiimport/x; touch /run/mpiimport/x && echo stored")
    assert "Read-only file system" in outcome.stderr
    assert outcome.lines() == ["stored"]


@pytest.mark.parametrize("variables", [{}, {"MPIIMPORT": "0"}], ids=["no annotation", "switched off"])
def test_a_container_that_does_not_ask_is_plain(engine: Podman, variables: dict[str, str]) -> None:
    profile = None if not variables else "mpich"
    outcome = engine.run("sh", "-c", "cat /proc/1/cmdline; ls -d /opt/mpiimport", profile=profile, **variables)
    assert "mpiimport-entry" not in outcome.stdout
    assert "No such file" in outcome.stderr


@pytest.mark.parametrize("stage", ["precreate", "createRuntime", "createContainer", "poststart"])
def test_an_unknown_stage_leaves_the_container_unchanged(own_hooks: Podman, stage: str) -> None:
    outcome = own_hooks.stage(stage, "noSuchStage").run("sh", "-c", "echo ran; ls -d /opt/mpiimport")
    assert outcome.lines() == ["ran"], outcome.stderr


def test_an_unknown_stage_or_version_is_a_warning(prefix: Path) -> None:
    for word, text in (("noSuchStage", "{}"), ("precreate", '{"ociVersion": "9.0"}'), ("createContainer", "{}")):
        done = _hook(prefix, word, text)
        assert done.returncode == 0
        assert done.stderr.startswith("mpiimport: the container starts without mpiimport: ")
        assert done.stdout == ("" if word == "createContainer" else text)


@pytest.mark.parametrize("profile", ["no-such-profile", "", "../../etc/passwd", "/etc/passwd"])
def test_a_broken_profile_keeps_the_container_from_starting(engine: Podman, prefix: Path, profile: str) -> None:
    outcome = engine.run("echo", "ran", profile=profile)
    assert outcome.status not in (0, None)
    assert outcome.stdout == ""
    # podman shows no line of a hook's, but its words, which say where the reason is to be had.
    assert "mpiimport-hook check" in outcome.stderr
    reason = _hook(prefix, "check", "", profile)
    assert reason.returncode == 1
    assert "profile" in reason.stderr


def test_the_reason_is_shown_where_the_runtime_shows_it(engine: Podman, site: Site) -> None:
    engine.directory = hooks(site.prefix, "cri-o")
    outcome = engine.run("echo", "ran", profile="no-such-profile")
    assert outcome.stdout == ""
    assert 'there is no profile "no-such-profile"' in outcome.stderr


def test_a_profile_of_the_users_own_is_not_taken(engine: Podman, site: Site) -> None:
    home = site.workspace("user")
    profiles = home / ".config" / "mpiimport" / "profiles"
    profiles.mkdir(parents=True)
    (profiles / "mine.yaml").write_text("{schema_version: 1, name: mine, description: d}")
    outcome = engine.run("echo", "ran", profile="mine", identity="user", XDG_CONFIG_HOME=str(home / ".config"))
    assert outcome.stdout == ""
    assert outcome.status not in (0, None)


def test_the_command_is_the_first_process_as_it_is_without_us(engine: Podman) -> None:
    for options in ({}, {"MPIIMPORT_REPORT": "/tmp"}):
        outcome = engine.run("sh", "-c", "echo $$ $MPIIMPORT_PID $PYTHONPATH", PMI_RANK="0", **options)
        assert outcome.stdout.split() == ["1", "1", "/opt/mpiimport/lib/mpiimport/door"]


def test_an_init_of_podmans_keeps_its_place(engine: Podman) -> None:
    outcome = engine.run("sh", "-c", "echo $$ $MPIIMPORT_PID; cat /proc/1/comm", options=("--init",), PMI_RANK="0")
    pids, first = outcome.stdout.splitlines()
    assert first in ("catatonit", "podman-init")
    own, named = pids.split()
    assert own == named != "1"


def test_the_hook_asks_for_three_paths_outside_the_prefix(prefix: Path, tmp_path: Path) -> None:
    config = {"ociVersion": "1.0.2", "annotations": {ANNOTATION: "mpich"}, "process": {"args": ["true"]}}
    asked = _paths(prefix, "precreate", json.dumps(config), tmp_path)
    # What any program in Go asks for at its start is what the hook asks for where it does nothing.
    for path in _paths(prefix, "noSuchStage", "", tmp_path):
        asked.remove(path)
    outside = [path for path in asked if not path.startswith(f"{prefix}/") and path != str(prefix)]
    assert len(outside) <= 3, outside


@pytest.mark.parametrize("runtime", ["podman", "cri-o", "sarus"])
def test_installed_hooks_name_the_installed_binary(prefix: Path, runtime: str) -> None:
    text = json.loads((hooks(prefix, runtime) / "mpiimport.json").read_text())
    assert text["version"] == "1.0.0"
    assert text["hook"]["path"] == str(prefix / "bin" / "mpiimport-hook")
    assert text["stages"] == [text["hook"]["args"][-1]]
    assert list(text["when"]) == ["annotations"]


def _hook(prefix: Path, stage: str, text: str, *words: str) -> "subprocess.CompletedProcess[str]":
    command = [str(prefix / "bin" / "mpiimport-hook"), stage, *words]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=60, env={})


def _paths(prefix: Path, stage: str, text: str, directory: Path) -> list[str]:
    """The paths that the hook asks for, itself left out."""
    trace = directory / "hook.trace"
    command = ["strace", "-f", "-qq", "-e", "trace=%file", "-o", str(trace), prefix / "bin" / "mpiimport-hook", stage]
    subprocess.run(command, input=text, text=True, check=True, stdout=subprocess.DEVNULL, timeout=60, env={})
    lines = [line.split(" ", 1)[1].lstrip() for line in trace.read_text().splitlines()]
    return [match[2] for line in lines if (match := PATH.match(line)) and match[1] != "execve"]
