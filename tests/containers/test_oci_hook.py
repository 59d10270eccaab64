"""The OCI hook on real podman: stages, runc and crun, root and rootless, broken profiles, what it asks for."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome, run
from lab.syscalls import PATH
from tests.conftest import ROOT, write_profile
from tests.containers.cells import IDENTITIES, Site
from tests.containers.entry_points import podman
from tests.containers.entry_points.oci_hook import hooks

ANNOTATION = "org.mpiimport.profile"
SERVED = "print(type(__import__('numpy').__loader__).__name__)"
# What a caller sets where the hook can only mount.
BY_HAND = {
    "MPIIMPORT": "force",
    "MPIIMPORT_STORE": "/.mpiimport-store",
    "PYTHONPATH": "/.mpiimport/lib/mpiimport/pythonpath",
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
        option: str | None = None,
        image: str = podman.IMAGE,
        **variables: str,
    ) -> Outcome:
        words = ["podman", "--runtime", runtime, "--hooks-dir", str(self.directory), "run", *podman.RUN_OPTIONS]
        words += [option] if option else []
        words += ["--annotation", f"{ANNOTATION}={profile}"] if profile is not None else []
        words += [word for name, value in variables.items() for word in ("--env", f"{name}={value}")]
        return self._site.run([*words, image, *command], self._mpi, identity, **podman.settings(identity))

    def podman(self, *words: str, text: str) -> "subprocess.CompletedProcess[str]":
        """Another command of root's podman."""
        environment = podman.environment(self._site, "root", self._mpi)
        line = ["podman", *words]
        return subprocess.run(line, input=text, env=environment, capture_output=True, text=True, timeout=120)

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


@pytest.fixture
def shared(site: Site, prefix: Path) -> Iterator[Path]:
    """A directory that the profile `shared` of the prefix mounts writable."""
    directory = site.workspace("root")
    directory.chmod(0o777)
    mounts = f"mounts: [{{source: {directory}, target: /data, options: rw}}]\n"
    profile = write_profile(prefix / "profiles" / "shared.yaml", mounts)
    yield directory
    site.plan("withdraw", "shared")
    profile.unlink()


@pytest.fixture
def annotated(engine: Podman) -> Iterator[str]:
    """An image whose manifest names the profile `shared`."""
    name = "localhost/mpiimport-annotated"
    line = f"FROM {podman.IMAGE}\n"
    built = engine.podman("build", "--format", "oci", f"--annotation={ANNOTATION}=shared", "-t", name, "-", text=line)
    assert built.returncode == 0, built.stderr
    yield name
    engine.podman("rmi", "--force", name, text="")


def test_an_image_wakes_no_profile_that_the_administrator_has_not_released(
    engine: Podman, site: Site, prefix: Path, shared: Path, annotated: str
) -> None:
    write = ("sh", "-c", "ls -d /.mpiimport; mkdir -p /data; touch /data/written; echo ran")
    assert engine.run(*write, profile=None, image=annotated).lines() == ["ran"]
    assert list(shared.iterdir()) == []
    refused = site.plan("release", "shared")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert f"lets containers write to {shared}" in refused.stderr
    assert site.plan("release", "--writable", "shared").returncode == 0
    # podman before 4.6 copies the annotations of images.
    assert engine.run(*write, profile="shared", image=annotated).lines() == ["/.mpiimport", "ran"]
    assert [file.name for file in shared.iterdir()] == ["written"]


def test_a_profile_that_mounts_more_than_it_was_released_for_is_not_served(
    engine: Podman, prefix: Path, shared: Path, site: Site
) -> None:
    assert site.plan("release", "--writable", "shared").returncode == 0
    other = site.workspace("root")
    profile = prefix / "profiles" / "shared.yaml"
    profile.write_text(profile.read_text().replace(str(shared), str(other)))
    for directory in (hooks(prefix), hooks(prefix, "cri-o")):
        engine.directory = directory
        outcome = engine.run("sh", "-c", "ls -d /.mpiimport /data; echo ran", profile="shared")
        assert outcome.lines() == ["ran"], outcome.stderr
    reason = _hook(prefix, "check", "", "shared")
    assert reason.returncode == 1
    assert f"lets containers write to {other}, for which it is not released" in reason.stderr


def test_only_root_can_release(site: Site, prefix: Path, shared: Path) -> None:
    assert site.plan("release", "--writable", "shared").returncode == 0
    released = prefix / "etc" / "hook.yaml"
    released.chmod(0o666)
    outcome = _hook(prefix, "check", "", "mpich")
    released.chmod(0o644)
    assert outcome.returncode == 1
    assert f"{released} is writable for others than root" in outcome.stderr
    assert _hook(prefix, "check", "", "mpich").returncode == 0


def test_what_is_released_is_readable_for_all_and_can_be_withdrawn(site: Site, prefix: Path, shared: Path) -> None:
    listed = site.plan("release", "--writable", "shared", umask=0o077)
    assert f"shared       {shared}" in listed.stdout.splitlines()
    assert (prefix / "etc" / "hook.yaml").stat().st_mode & 0o777 == 0o644
    assert site.plan("withdraw", "shared").returncode == 0
    assert "shared" not in site.plan("release").stdout
    assert "not released" in _hook(prefix, "check", "", "shared").stderr
    unknown = site.plan("release", "no-such-profile")
    assert unknown.returncode == 2
    assert 'there is no profile "no-such-profile"' in unknown.stderr


@pytest.mark.parametrize(("runtime", "identity"), RUNTIMES)
def test_ranks_are_served_under_both_runtimes(engine: Podman, runtime: str, identity: str) -> None:
    outcome = engine.mpiexec("-c", SERVED, runtime=runtime, identity=identity, MPIIMPORT="force")
    assert outcome.lines() == ["StoreSourceLoader"] * 2, outcome.stderr
    assert outcome.ours() == []


def test_settings_can_bring_hook_and_annotation_to_every_container(site: Site, mpich: Mpi, own_hooks: Podman) -> None:
    settings = own_hooks.directory / "containers.conf"
    environment = podman.environment(site, "user", mpich)
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
    outcome = engine.run("sh", "-c", "touch /.mpiimport/x; touch /.mpiimport-store/x && echo stored")
    assert "Read-only file system" in outcome.stderr
    assert outcome.lines() == ["stored"]


@pytest.mark.parametrize("variables", [{}, {"MPIIMPORT": "0"}], ids=["no annotation", "switched off"])
def test_a_container_that_does_not_ask_is_plain(engine: Podman, variables: dict[str, str]) -> None:
    profile = None if not variables else "mpich"
    outcome = engine.run("sh", "-c", "cat /proc/1/cmdline; ls -d /.mpiimport", profile=profile, **variables)
    assert "mpiimport-entry" not in outcome.stdout
    assert "No such file" in outcome.stderr


@pytest.mark.parametrize("stage", ["precreate", "createRuntime", "createContainer", "poststart"])
def test_an_unknown_stage_leaves_the_container_unchanged(own_hooks: Podman, stage: str) -> None:
    outcome = own_hooks.stage(stage, "noSuchStage").run("sh", "-c", "echo ran; ls -d /.mpiimport")
    assert outcome.lines() == ["ran"], outcome.stderr


def test_an_unknown_stage_or_version_is_a_warning(prefix: Path) -> None:
    for word, text in (("noSuchStage", "{}"), ("precreate", '{"ociVersion": "9.0"}'), ("createContainer", "{}")):
        done = _hook(prefix, word, text)
        assert done.returncode == 0
        assert done.stderr.startswith("mpiimport: the container starts without mpiimport: ")
        assert done.stdout == ("" if word == "createContainer" else text)


@pytest.mark.parametrize("profile", ["no-such-profile", "", "../../etc/passwd", "/etc/passwd"])
def test_what_is_not_released_leaves_the_container_plain(engine: Podman, prefix: Path, profile: str) -> None:
    assert engine.run("sh", "-c", "ls -d /.mpiimport; echo ran", profile=profile).lines() == ["ran"]
    reason = _hook(prefix, "check", "", profile)
    assert reason.returncode == 1
    assert "is not released for the hook" in reason.stderr


def test_a_broken_profile_keeps_the_container_from_starting(
    engine: Podman, site: Site, prefix: Path, shared: Path
) -> None:
    assert site.plan("release", "--writable", "shared").returncode == 0
    shared.rmdir()
    outcome = engine.run("echo", "ran", profile="shared")
    assert outcome.status not in (0, None)
    assert outcome.stdout == ""
    # podman shows no line of a hook's, but its words, which say where the reason is to be had.
    assert "mpiimport-hook check" in outcome.stderr
    reason = _hook(prefix, "check", "", "shared")
    assert reason.returncode == 1
    assert f"the mount source {shared} does not exist" in reason.stderr
    # runc shows it itself.
    engine.directory = hooks(prefix, "cri-o")
    outcome = engine.run("echo", "ran", profile="shared")
    assert outcome.stdout == ""
    assert f"the mount source {shared} does not exist" in outcome.stderr


def test_a_profile_of_the_users_own_is_not_taken(engine: Podman, site: Site) -> None:
    home = site.workspace("user")
    write_profile(home / ".config/mpiimport/profiles/mpich.yaml", "environment: {set: {MINE: '1'}}\n")
    words = ("sh", "-c", "echo $MPIIMPORT_PROFILE$MINE")
    outcome = engine.run(*words, identity="user", XDG_CONFIG_HOME=str(home / ".config"))
    assert outcome.lines() == ["mpich"], outcome.stderr


def test_the_command_is_the_first_process_as_it_is_without_us(engine: Podman) -> None:
    for options in ({}, {"MPIIMPORT_REPORT": "/tmp"}):
        outcome = engine.run("sh", "-c", "echo $$ $_MPIIMPORT_PID $PYTHONPATH", PMI_RANK="0", **options)
        assert outcome.stdout.split() == ["1", "1", "/.mpiimport/lib/mpiimport/pythonpath"]


def test_an_init_of_podmans_keeps_its_place(engine: Podman) -> None:
    outcome = engine.run("sh", "-c", "echo $$ $_MPIIMPORT_PID; cat /proc/1/comm", option="--init", PMI_RANK="0")
    pids, first = outcome.stdout.splitlines()
    assert first in ("catatonit", "podman-init")
    own, named = pids.split()
    assert own == named != "1"


def test_the_hook_asks_for_three_paths_outside_the_prefix(site: Site, prefix: Path, tmp_path: Path) -> None:
    config = {"ociVersion": "1.0.2", "annotations": {ANNOTATION: "mpich"}, "process": {"args": ["true"]}}
    asked = _paths(site.prefix, "precreate", json.dumps(config), tmp_path)
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


@pytest.mark.parametrize("name", ['a "b"', "a\\b", "a&b c"])
def test_hook_settings_are_json_wherever_the_prefix_lies(tmp_path: Path, name: str) -> None:
    installed = tmp_path / name
    script = 'here=$1; eval "$(sed -n "/^write_hooks()/,/^}/p" "$here/install.sh")"; write_hooks "$2" "$2"'
    subprocess.run(["bash", "-euc", script, "bash", ROOT, installed], check=True)
    for runtime in ("podman", "cri-o", "sarus"):
        text = json.loads((hooks(installed, runtime) / "mpiimport.json").read_text())
        assert text["hook"]["path"] == f"{installed}/bin/mpiimport-hook"


def _hook(prefix: Path, stage: str, text: str, *words: str) -> "subprocess.CompletedProcess[str]":
    command = [str(prefix / "bin" / "mpiimport-hook"), stage, *words]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=60, env={})


def _paths(prefix: Path, stage: str, text: str, directory: Path) -> list[str]:
    """The paths that the hook asks for, itself left out."""
    trace = directory / "hook.trace"
    hook = str(prefix / "bin" / "mpiimport-hook")
    command = ["strace", "-f", "-qq", "-e", "trace=%file", "-o", str(trace), hook, stage]
    subprocess.run(command, input=text, text=True, check=True, stdout=subprocess.DEVNULL, timeout=60, env={})
    lines = [line.split(" ", 1)[1].lstrip() for line in trace.read_text().splitlines()]
    return [match[2] for line in lines if (match := PATH.match(line)) and match[1] != "execve"]
