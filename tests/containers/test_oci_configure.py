"""`mpiimport oci configure` shows and makes the change that a runtime needs, and takes it back; the runtimes themselves
read what it has written."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome, clean_environment, run
from tests.conftest import provision
from tests.containers.cells import Site
from tests.containers.dockerd import Dockerd
from tests.containers.entry_points import podman
from tests.containers.entry_points.oci_hook import hooks

BEFORE = ".before-mpiimport"
Configure = Callable[..., Outcome]
CONTAINERS = """\
# The site's.
[containers]
pids_limit = 100    # few

[engine]
# Ours come first.
hooks_dir = [
    "/etc/site/hooks.d",    # audit
]
runtime = "runc"

[engine.runtimes]
crun = ["/usr/bin/crun"]
"""
DAEMON = '{\n    "log-level": "warn",\n    "features": {"buildkit": true},\n    "labels": ["ä=b"]\n}\n'
CONTAINERD = """\
version = 2

# What Debian has.
[plugins]
  [plugins."io.containerd.grpc.v1.cri"]
    [plugins."io.containerd.grpc.v1.cri".cni]
      bin_dir = "/usr/lib/cni"    # not /opt
  [plugins."io.containerd.internal.v1.opt"]
    path = "/var/lib/containerd/opt"
"""


@pytest.fixture
def configure(prefix: Path, tmp_path: Path) -> Configure:
    def command(runtime: str, file: Path, *words: str) -> Outcome:
        line = [str(prefix / "bin" / "mpiimport"), "oci", "configure", runtime, "--config", str(file), *words]
        return run(line, clean_environment(), 60, tmp_path)

    return command


TEXTS = {"podman": CONTAINERS, "docker": DAEMON, "containerd": CONTAINERD, "cri-o": "# A drop-in.\n"}
NAMES = {"podman": "containers.conf", "docker": "daemon.json", "containerd": "config.toml", "cri-o": "99-x.conf"}


@pytest.mark.parametrize("runtime", sorted(TEXTS))
def test_a_change_is_shown_first_then_made_once_then_undone(configure: Configure, tmp_path: Path, runtime: str) -> None:
    file = tmp_path / NAMES[runtime]
    file.write_text(TEXTS[runtime])
    file.chmod(0o640)
    shown = configure(runtime, file)
    assert shown.status == 0, shown.stderr
    assert f"{file} was left as it is" in shown.stdout and "\n+" in shown.stdout
    assert file.read_text() == TEXTS[runtime]
    made = configure(runtime, file, "--write")
    assert made.status == 0, made.stderr
    changed = file.read_text()
    # The difference that was shown is that which was made.
    assert made.stdout.partition(f"{file} was changed")[0] == shown.stdout.partition(f"{file} was left")[0]
    assert all(line in changed.splitlines() for line in TEXTS[runtime].splitlines() if "#" in line)
    assert Path(f"{file}{BEFORE}").read_text() == TEXTS[runtime]
    assert f"{file}: nothing to do" in configure(runtime, file, "--write").stdout
    assert file.read_text() == changed and file.stat().st_mode & 0o777 == 0o640
    assert configure(runtime, file, "--undo").status == 0
    assert file.read_text() == changed
    undone = configure(runtime, file, "--undo", "--write")
    assert undone.status == 0, undone.stderr
    assert file.read_text() == TEXTS[runtime]
    assert [path.name for path in tmp_path.iterdir()] == [file.name]
    assert f"{file}: nothing to undo" in configure(runtime, file, "--undo").stdout


@pytest.mark.parametrize("runtime", sorted(TEXTS))
def test_a_file_that_was_not_there_is_gone_again(configure: Configure, tmp_path: Path, runtime: str) -> None:
    file = tmp_path / "new" / NAMES[runtime]
    assert configure(runtime, file, "--write").status == 0
    assert file.read_text()
    assert configure(runtime, file, "--undo", "--write").status == 0
    assert not file.exists()


@pytest.mark.parametrize(
    ("runtime", "more"),
    [
        ("podman", ("pids_limit = 100", "pids_limit = 7")),
        ("docker", ('"warn"', '"error"')),
        ("containerd", ("/usr/lib/cni", "/opt/cni")),
    ],
)
def test_what_others_have_changed_since_stays(
    configure: Configure, tmp_path: Path, runtime: str, more: tuple[str, str]
) -> None:
    file = tmp_path / NAMES[runtime]
    file.write_text(TEXTS[runtime])
    configure(runtime, file, "--write")
    file.write_text(file.read_text().replace(*more))
    undone = configure(runtime, file, "--undo", "--write")
    assert undone.status == 0, undone.stderr
    wanted = TEXTS[runtime].replace(*more)
    if runtime == "docker":
        assert json.loads(file.read_text()) == json.loads(wanted)
    else:
        assert file.read_text().split() == wanted.split()


OWN = {
    "docker": '{\n  "features": {\n    "cdi": true\n  }\n}\n',
    "containerd": 'version = 2\n[plugins."io.containerd.grpc.v1.cri"]\nenable_cdi = true\n'
    'cdi_spec_dirs = ["/etc/cdi", "/var/run/cdi"]\n',
}


@pytest.mark.parametrize("runtime", OWN)
def test_what_the_site_had_itself_is_never_taken_out(configure: Configure, tmp_path: Path, runtime: str) -> None:
    file = tmp_path / NAMES[runtime]
    file.write_text(OWN[runtime])
    for words in ([], ["--undo"]):
        outcome = configure(runtime, file, *words, "--write")
        assert outcome.status == 0, outcome.stderr
        assert "nothing to" in outcome.stdout
        assert file.read_text() == OWN[runtime]


def test_of_a_list_that_is_partly_the_sites_that_part_stays(configure: Configure, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(OWN["containerd"].replace(', "/var/run/cdi"', ""))
    assert configure("containerd", file, "--write").status == 0
    file.write_text(file.read_text() + "# Edited since.\n")
    assert configure("containerd", file, "--undo", "--write").status == 0
    assert 'cdi_spec_dirs = ["/etc/cdi"]' in file.read_text()


@pytest.mark.parametrize(
    ("runtime", "text", "reason"),
    [
        ("podman", "[engine\nhooks_dir = []\n", "is not understood"),
        ("podman", '[engine]\nhooks_dir = "/etc/hooks"\n', "engine.hooks_dir is no list"),
        ("podman", 'engine = "podman"\n', "engine is no table"),
        ("docker", "{// a comment\n}\n", "is not understood"),
        ("docker", '{"features": {}, "features": {}}', "a key stands there twice"),
        ("docker", "[]\n", "is no table of settings"),
        ("docker", '{"a": NaN}', "is not understood"),
        ("docker", r'{"a": "\uFDD05"}', "is not understood"),
        ("docker", "[" * 20000, "is not understood"),
        ("containerd", "[plugins.cri]\nenable_tls = false\n", "has no version 2 or 3"),
        ("containerd", "version = 2\nplugins = 1\n", "plugins is no table"),
        ("cri-o", "\x00", "is not understood"),
    ],
)
@pytest.mark.parametrize("undo", [(), ("--undo",)], ids=["do", "undo"])
def test_what_is_not_understood_is_left_as_it_is(
    configure: Configure, tmp_path: Path, runtime: str, text: str, reason: str, undo: tuple[str, ...]
) -> None:
    file = tmp_path / NAMES[runtime]
    file.write_text(text)
    if undo:
        Path(f"{file}{BEFORE}").write_text(TEXTS[runtime])
    there = sorted(tmp_path.iterdir())
    outcome = configure(runtime, file, "--write", *undo)
    assert outcome.status == 1
    assert reason in outcome.stderr and str(file) in outcome.stderr and "left as it is" in outcome.stderr
    assert file.read_text() == text
    assert sorted(tmp_path.iterdir()) == there


def test_a_file_that_is_read_later_is_named(configure: Configure, tmp_path: Path) -> None:
    file = tmp_path / "containers.conf"
    later = tmp_path / "containers.conf.d" / "site.conf"
    later.parent.mkdir()
    later.write_text('[engine]\nhooks_dir = ["/etc/site"]\n')
    outcome = configure("podman", file, "--write")
    assert outcome.status == 1 and not file.exists()
    assert f"{later} says engine.hooks_dir, and is read behind {file}; name it with --config" in outcome.stderr


FORMS = [
    'engine.hooks_dir = ["/a"]\n',
    'engine = {runtime = "runc", hooks_dir = ["/b"]}\n',
    "engine = {}\n",
    '[engine.runtimes]\nx = ["a"]\n[containers]\ny = 1\n[engine]\nruntime = "r"\n',
    "[engine]\nhooks_dir = [\n  '/a',\n  '/b' # y\n]\n",
    "[engine]\r\nruntime = 'x' # c\r\n",
    "'engine'.\"hooks_dir\" = []",
    "\n\n# nothing else",
]


@pytest.mark.parametrize("text", FORMS)
def test_settings_in_any_form_are_kept_and_restored(configure: Configure, tmp_path: Path, text: str) -> None:
    file = tmp_path / "containers.conf"
    file.write_bytes(text.encode())
    made = configure("podman", file, "--write")
    assert made.status == 0, made.stderr
    assert "hooks.d/podman" in file.read_text()
    file.write_bytes(file.read_bytes() + b"\n[other]\nx = 1\n")
    assert configure("podman", file, "--undo", "--write").status == 0
    assert "hooks.d/podman" not in file.read_text() and "[other]" in file.read_text()
    file.write_bytes(text.encode())
    configure("podman", file, "--write")
    assert configure("podman", file, "--undo", "--write").status == 0
    assert file.read_bytes() == text.encode()


@pytest.mark.parametrize("name", ["daemon.json", "daemon.conf", "daemon"])
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["Unix", "Windows"])
def test_dockers_file_keeps_numbers_characters_and_line_ends(
    configure: Configure, tmp_path: Path, name: str, end: str
) -> None:
    kept = [
        '"max-concurrent-downloads": 12345678901234567890123',
        '"odd": [1.10, 1E400, -0, 1e5, 0.10000000000000000555]',
        '"lone": "\\ud800"',
        '"text": "1.10 \\\\ \\" ä \\u0000"',
    ]
    text = end.join(["{", *(f"\t{line}," for line in kept[:-1]), f"\t{kept[-1]}", "}", ""]).replace("[", f"[{end}\t\t")
    text = text.replace("]", f"{end}\t]").replace(", ", f",{end}\t\t")
    file = tmp_path / name
    file.write_bytes(text.encode())
    made = configure("docker", file, "--write")
    assert made.status == 0, made.stderr
    changed = file.read_bytes().decode()
    added = f',{end}\t"features": {{{end}\t\t"cdi": true{end}\t}}{end}}}{end}'
    assert changed == text.removesuffix(f"{end}}}{end}") + added
    file.write_bytes(changed.replace("1.10,", "1.100,").encode())
    assert configure("docker", file, "--undo", "--write").status == 0
    assert file.read_bytes().decode() == text.replace("1.10,", "1.100,")


def test_a_file_behind_a_link_is_changed_and_the_link_stays(configure: Configure, tmp_path: Path) -> None:
    file, link = tmp_path / "real.json", tmp_path / "daemon.json"
    file.write_text(DAEMON)
    link.symlink_to(file)
    assert configure("docker", link, "--write").status == 0
    assert link.is_symlink() and json.loads(file.read_text())["features"] == {"buildkit": True, "cdi": True}


@pytest.mark.parametrize("identity", ["root", "user"])
def test_podman_reads_what_was_written(site: Site, configure: Configure, mpich: Mpi, identity: str) -> None:
    environment = podman.environment(site, identity, mpich)
    file = site.script(
        identity, "# The tests'.\n" + Path(environment["CONTAINERS_CONF"]).read_text(), "containers.conf"
    )
    file.chmod(0o644)
    command = [site.tool, "oci", "configure", "podman", "--write"]
    environment["CONTAINERS_CONF"] = str(file)
    if identity == "user":
        shutil.chown(file, site.user)

    def served() -> list[str]:
        words = ["podman", "run", *podman.RUN_OPTIONS, "--annotation", "org.mpiimport.profile=default", podman.IMAGE]
        outcome = run(
            site.as_identity(identity, [*words, "sh", "-c", "echo ran $MPIIMPORT"]), environment, 120, Path("/")
        )
        assert outcome.status == 0, outcome.stderr
        return outcome.lines()

    assert served() == ["ran"]
    made = run(site.as_identity(identity, command), environment, 60, Path("/"))
    assert made.status == 0, made.stderr
    assert str(hooks(site.prefix)) in made.stdout
    assert served() == ["ran 1"]
    assert run(site.as_identity(identity, [*command, "--undo"]), environment, 60, Path("/")).status == 0
    assert served() == ["ran"]


def test_dockerd_starts_with_what_was_written(site: Site, configure: Configure, tmp_path: Path) -> None:
    file = tmp_path / "daemon.json"
    file.write_text('{"labels": ["held=yes"]}\n')
    assert configure("docker", file, "--write").status == 0
    with Dockerd(provision("dockerd.sh"), 0, configuration=file) as daemon:
        assert daemon.client.info()["Labels"] == ["held=yes"]


def test_containerd_reads_what_was_written(configure: Configure, tmp_path: Path) -> None:
    provision("dockerd.sh")
    program = shutil.which("containerd")
    assert program is not None
    file = tmp_path / "config.toml"
    file.write_text(CONTAINERD)
    assert configure("containerd", file, "--write").status == 0
    line = [program, "--config", str(file), "config", "dump"]
    dumped = subprocess.run(line, capture_output=True, text=True, timeout=60)
    assert dumped.returncode == 0, dumped.stderr
    assert 'bin_dir = "/usr/lib/cni"' in dumped.stdout and 'path = "/var/lib/containerd/opt"' in dumped.stdout
    assert "enable_cdi = true" in file.read_text()
