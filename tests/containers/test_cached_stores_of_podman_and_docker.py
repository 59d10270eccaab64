"""Kept stores in containers of podman and docker: those of one image import from what one of them has filled."""

import json
import os
import pwd
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.ranks import Mpi
from tests.conftest import settle, wait_for
from tests.containers.cells import Site
from tests.containers.entry_points import cdi, podman
from tests.containers.entry_points.entrypoint import PLAIN as DOCKER_IMAGE
from tests.containers.entry_points.entrypoint import make_docker_images
from tests.containers.entry_points.oci_hook import hooks
from tests.containers.podman_caches import Containers

CHILDREN = """
import os
try:
    print(os.waitpid(-1, 0))
except ChildProcessError:
    print("no child")
"""
PACKAGES = "/usr/lib/python3/dist-packages"
# What a container sees of stores.
LOOK = (
    "grep -o ' /.mpiimport-cache ' /proc/self/mountinfo; find /.mpiimport-store /dev/shm -mindepth 1 2>/dev/null; true"
)


@pytest.mark.usefixtures("_keeps")
@pytest.mark.parametrize(
    ("identity", "runtime", "options"),
    [
        ("root", "runc", ()),
        ("user", "crun", ()),
        pytest.param("user", "runc", ("--userns=keep-id",), marks=pytest.mark.full),
        pytest.param("root", "crun", ("--ipc=host", "--pid=host"), marks=pytest.mark.full),
    ],
)
def test_containers_import_from_what_a_session_has_filled(
    site: Site, mpich: Mpi, identity: str, runtime: str, options: tuple[str, ...]
) -> None:
    containers = Containers(site, mpich, identity, runtime, options)
    task = containers.script("numpy")
    if options:
        # podman copies the image for other user ids first.
        assert containers.run("true").status == 0
    filled = containers.fill("python3", task)
    assert (filled.status, filled.stdout, filled.ours()) == (0, "", []), filled.stderr
    for keep in ("auto", "session"):
        outcome = containers.run("python3", task, MPIIMPORT_CACHE=keep)
        assert (outcome.status, outcome.lines(), outcome.stderr) == (0, ["kept "], "")
    assert not list(containers.place.glob("images/*/wanted/*"))
    assert "containers of the image" in containers.mpiimport("session", "status").stdout
    assert containers.mpiimport("session", "stop").status == 0
    assert not containers.place.exists()


def test_ranks_in_a_container_import_from_it(containers: Containers) -> None:
    ranks = ("/opt/mpich/bin/mpiexec", "-n", "2", "python3", containers.script("numpy"))
    assert containers.fill(*ranks).status == 0
    outcome = containers.run(*ranks)
    assert (outcome.status, outcome.lines(), outcome.stderr) == (0, ["kept "] * 2, "")


def test_the_first_process_of_a_container_gets_no_child_of_ours(containers: Containers, site: Site) -> None:
    task = Path(containers.script("numpy"))
    report = task.with_name("report.json")
    with task.open("a") as script:
        script.write(CHILDREN)
    assert containers.fill("python3", containers.script("colorsys")).status == 0
    outcome = containers.run("python3", str(task), MPIIMPORT_REPORT=str(report))
    assert outcome.printed() == ["no child", "plain "]
    assert "mpiimport session start fills the store" in json.loads(report.read_text())["bypassed"]


def test_a_process_that_is_not_the_first_of_its_container_fills(containers: Containers) -> None:
    """Where the container lives as long as that takes. It ends when its first process does."""
    task = containers.script("numpy")
    assert containers.fill("python3", containers.script("colorsys")).status == 0
    living = f"python3 {task}; until [ $(ls /.mpiimport-cache/programs | wc -l) = 2 ]; do sleep 0.1; done; exit 7"
    first = containers.run("sh", "-c", living)
    assert (first.status, first.lines(), first.stderr) == (7, ["plain "], "")
    second = containers.run("sh", "-c", f"python3 {task}; exit 7")
    assert (second.status, second.lines(), second.stderr) == (7, ["kept "], "")


def build(containers: Containers, name: str, value: str) -> str:
    """Make an image with a module whose file has the same name, size and time in all such images."""
    context = containers.site.workspace("root")
    module = context / "part.py"
    module.write_text(f"value = {value!r}\n")
    os.utime(module, (10**9, 10**9))
    other = context / "other"
    other.mkdir()
    (other / "part.py").write_text("value = 'new'\n")
    lines = [f"FROM {podman.IMAGE}", f"COPY part.py {PACKAGES}/", "COPY other /opt/other"]
    (context / "Dockerfile").write_text("\n".join(lines))
    built = containers.host("podman", "build", "--quiet", "--timestamp=1000000000", f"--tag={name}", str(context))
    assert built.status == 0, built.stderr
    return name


@pytest.fixture
def image(containers: Containers) -> Iterator[str]:
    name = f"localhost/mpiimport-cache-{containers.job}"
    yield build(containers, name, "one")
    containers.host("podman", "rmi", "--force", name)


def test_another_image_under_the_same_name_shares_nothing(containers: Containers, image: str) -> None:
    task = containers.script("part")
    for value in ("one", "two"):
        build(containers, image, value)
        assert containers.run("python3", task, image=image).lines() == [f"plain {value}"]
        # What has just changed is not kept.
        wait_for(lambda: containers.fill("python3", task, image=image).status == 0)
        assert containers.run("python3", task, image=image).lines() == [f"kept {value}"]
    assert len(list(containers.place.glob("images/*"))) == 2


CHANGES = {
    "in place": f"echo \"value = 'new'\" > {PACKAGES}/part.py; touch -d @1000000000 {PACKAGES}/part.py",
}
OTHERS = {
    "by a package": f"mkdir {PACKAGES}/part; echo \"value = 'new'\" > {PACKAGES}/part/__init__.py",
    "by another file": f"echo \"value = 'new'\" > /new; touch -d @1000000000 /new; mv /new {PACKAGES}/part.py",
    "by one in front": "echo \"value = 'new'\" > /usr/local/lib/python3.11/dist-packages/part.py",
    "by a directory of the image": f"mv {PACKAGES} /old && mv /opt/other {PACKAGES}",
}


@pytest.mark.parametrize("change", [*CHANGES, *(pytest.param(name, marks=pytest.mark.full) for name in OTHERS)])
def test_what_a_container_changes_is_imported_there_and_nowhere_else(
    containers: Containers, image: str, change: str
) -> None:
    how = {**CHANGES, **OTHERS}[change]
    task = containers.script("part")
    name = f"changed-{containers.job}"
    wait_for(lambda: containers.fill("python3", task, image=image).status == 0)
    # A container that is started again is as it was left.
    lived = f"--name={name}"
    program = f"python3 {task}; [ -e /changed ] || {{ {how}; touch /changed; python3 {task}; }}"
    words = containers.line("sh", "-c", program, image=image, options=(lived,))
    words.remove("--rm")
    try:
        assert containers.host(*words).stdout.splitlines() == ["kept one", "plain new"]
        again = containers.host("podman", "--hooks-dir", str(hooks(containers.site.prefix)), "start", "--attach", name)
        assert again.lines() == ["plain new"], again.stderr
    finally:
        containers.host("podman", "rm", "--force", name)
    assert containers.run("python3", task, image=image).lines() == ["kept one"]
    settled = f"{how}; sleep 2.5; MPIIMPORT_FILL=1 python3 {task}"
    refused = containers.run("sh", "-c", settled, image=image)
    assert "has changed since this container was made" in refused.stderr
    assert containers.run("python3", task, image=image).lines() == ["kept one"]


def test_what_a_container_mounts_over_its_image_is_imported(containers: Containers, image: str) -> None:
    task = containers.script("part")
    wait_for(lambda: containers.fill("python3", task, image=image).status == 0)
    other = Path(task).with_name("part.py")
    other.write_text("value = 'mine'\n")
    settle(other)
    mounted = (f"--volume={other}:{PACKAGES}/part.py",)
    assert containers.run("python3", task, image=image, options=mounted).lines() == ["plain mine"]


def test_only_the_user_who_starts_a_container_has_stores_in_it(containers: Containers) -> None:
    task = containers.script("numpy")
    assert containers.fill("python3", task).status == 0
    assert containers.run("sh", "-c", LOOK).lines() != []
    for options in (("--user=1234",), (f"--user={pwd.getpwnam(containers.site.user).pw_uid}",)):
        seen = containers.run("sh", "-c", LOOK, options=options)
        assert seen.printed() == []
        outcome = containers.run("python3", task, options=options)
        assert (outcome.status, outcome.lines()) == (0, ["plain "]), outcome.stderr
        (line,) = outcome.ours()
        assert line.startswith("mpiimport: running as plain Python: ")


def test_containers_keep_nothing_unless_the_administrator_lets_them(containers: Containers, site: Site) -> None:
    task = containers.script("numpy")
    assert containers.fill("python3", task).status == 0
    site.plan("release", "default").check_returncode()
    try:
        seen = containers.run("sh", "-c", LOOK)
        plain = containers.run("python3", task)
    finally:
        site.plan("release", "--cache", "default").check_returncode()
    assert (seen.lines(), plain.lines()) == ([], ["plain "]), plain.stderr
    (line,) = plain.ours()
    assert line.startswith("mpiimport: running as plain Python: ")


def test_a_device_knows_no_image_and_keeps_nothing(containers: Containers, site: Site) -> None:
    cdi.write(site.prefix, "private")
    line = ["podman", "run", *podman.RUN_OPTIONS, "--volume=/tmp:/tmp", "--device=mpiimport.org/profile=default"]
    line += ["--env=MPIIMPORT_FILL=1", podman.IMAGE, "python3", containers.script("numpy")]
    refused = containers.mpiimport("session", "start", "--", *line)
    assert refused.status == 1 and "lies on overlay" in refused.stderr, refused.stderr
    assert not containers.place.exists()


def test_a_session_lasts_as_long_as_its_command(containers: Containers) -> None:
    task = containers.script("numpy")
    handed = ("--env=MPIIMPORT_SESSION", "--env=MPIIMPORT_CACHE")
    line = containers.line("python3", task, image=podman.IMAGE, options=handed)
    line.remove("--env=MPIIMPORT_CACHE=auto")
    script = 'MPIIMPORT_FILL=1 "$0" session start -- "$@"; "$@"; ls -d /dev/shm/*.$MPIIMPORT_SESSION'
    line.insert(line.index(podman.IMAGE), "--env=MPIIMPORT_FILL")
    outcome = containers.mpiimport("run", "--session", "--", "sh", "-c", script, containers.site.tool, *line)
    assert outcome.status == 0, outcome.stderr
    kept, place = outcome.stdout.splitlines()
    assert kept == "kept ", outcome.stderr
    wait_for(lambda: not Path(place).exists())


@pytest.mark.parametrize("identity", ["user", pytest.param("root", marks=pytest.mark.full)])
@pytest.mark.parametrize("engine", ["docker", pytest.param("podman", marks=pytest.mark.full)])
def test_exec_keeps_stores_of_images_that_have_only_a_name(site: Site, mpich: Mpi, identity: str, engine: str) -> None:
    containers = Containers(site, mpich, identity)
    task = Path(containers.script("numpy"))
    variables = {"MPIIMPORT_CACHE": "auto"}
    name = podman.IMAGE
    if engine == "docker":
        make_docker_images(site)
        name = DOCKER_IMAGE
        variables["DOCKER_HOST"] = site.docker.host
    line = [site.tool, "exec", "--network=none", f"--volume={task.parent}:{task.parent}"]
    line += [name, "python3", str(task)]
    assert containers.host(*line, **variables).lines() == ["plain "]
    filled = containers.mpiimport("session", "start", "--", *line, **variables)
    assert (filled.status, filled.stdout) == (0, ""), filled.stderr
    outcome = containers.host(*line, **variables)
    assert outcome.printed() == ["kept "]
    assert containers.mpiimport("session", "stop").status == 0
    assert not containers.place.exists()
