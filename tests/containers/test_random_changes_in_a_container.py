"""Whatever a container has changed in its image: what is imported there is what plain Python imports."""

import dataclasses
import random

import pytest

from tests.conftest import wait_for
from tests.containers.entry_points import podman
from tests.containers.podman_caches import Containers

TREE, DIRECTORIES, MODULES = "/opt/tree", ("one", "two", "three"), ("a", "b", "c")
# All that there may be, from wherever it comes.
PATH = ":".join(f"{TREE}/{name}" for name in ("one", "link", "two/lib", "three"))
PROGRAM = """
import sys
found = []
for name in ("a", "b", "c", "d", "package", "package.a", "lib", "lib.a"):
    try:
        module = __import__(name, fromlist=["*"])
        found.append((name, getattr(module, "value", None), getattr(module, "__file__", None)))
    except ImportError as exc:
        found.append((name, str(exc)))
import importlib.metadata
for name in ("this", "that"):
    try:
        found.append((name, importlib.metadata.version(name)))
    except importlib.metadata.PackageNotFoundError:
        found.append((name, None))
source = getattr(sys.modules.get("a", sys).__spec__, "loader", None)
print(*found, sep="\\n")
print("kept" if type(getattr(source, "source", None)).__name__ == "Imports" else "plain", file=sys.stderr)
"""
SEEDS = range(60)


def put(path: str, value: str) -> str:
    return f"mkdir -p $(dirname {path}); echo \"value = '{value}'\" > {path}"


def made() -> str:
    """Make a tree whose files and directories are of a few moments, as far as clocks tell, and of one size."""
    directories = (*DIRECTORIES, "two/lib", "other/lib", "other/package")
    missing = {("one", "c"), ("other/lib", "b")}
    files = [(directory, module) for directory in directories for module in MODULES]
    lines = [
        put(f"{TREE}/{where}/{module}.py", where[:3] + module)
        for where, module in files
        if (where, module) not in missing
    ]
    lines += [f"mkdir {TREE}/{where}/this-1.dist-info" for where in ("two/lib", "other/lib")]
    for where, version in (("two/lib", 1), ("other/lib", 2)):
        lines.append(f"printf 'Name: this\\nVersion: {version}\\n' > {TREE}/{where}/this-1.dist-info/METADATA")
    lines += [f"ln -s three {TREE}/link", f"find {TREE} -exec touch -h -d @1000000000 {{}} +"]
    return "; ".join(lines)


def change(chance: random.Random) -> str:
    """One thing that a program, or pip, may do to the tree; what it does to times does not tell."""
    directory, other = chance.sample((*DIRECTORIES, "two/lib", "other", "other/lib", "other/package"), 2)
    file = f"{TREE}/{directory}/{chance.choice(MODULES)}.py"
    another = f"{TREE}/{other}/{chance.choice((*MODULES, 'd'))}.py"
    kinds = [
        put(file, "newx"),
        f"rm -f {file}",
        f"mv {file} {another}",
        f"ln -f {file} {another}",
        f"cp -p {file} {another}",
        f"mv {TREE}/{directory} /tmp/moved; mv {TREE}/{other} {TREE}/{directory}; mv /tmp/moved {TREE}/{other}",
        f"rm -rf {TREE}/{directory}; cp -a {TREE}/{other} {TREE}/{directory}",
        f"ln -sfn {directory} {TREE}/link",
        f"rm -rf {TREE}/{directory}; ln -s {TREE}/{other} {TREE}/{directory}",
        put(f"{TREE}/{directory}/package/__init__.py", "packd"),
        f"mkdir -p {TREE}/{directory}/that-3.dist-info; printf 'Name: that\\nVersion: 3\\n' > $_/METADATA",
        f"mount -t tmpfs none {TREE}/{directory}; cp -a {TREE}/{other}/. {TREE}/{directory}",
    ]
    kept = (file, another, TREE, *(f"{TREE}/{name}" for name in (directory, other, "link")))
    return f"({chance.choice(kinds)}); touch -c -h -d @1000000000 {' '.join(kept)}"


@pytest.mark.full
def test_what_containers_change_at_random_is_imported_as_plainly(containers: Containers) -> None:
    containers = dataclasses.replace(containers, options=("--cap-add=SYS_ADMIN", f"--env=PYTHONPATH={PATH}"))
    context = containers.site.workspace("root")
    task = context / "task.py"
    task.write_text(PROGRAM)
    (context / "Dockerfile").write_text(f"FROM {podman.IMAGE}\nCOPY make.sh /\nRUN sh /make.sh\n")
    (context / "make.sh").write_text(made())
    image = f"localhost/mpiimport-cache-{containers.job}"
    built = containers.host("podman", "build", "--quiet", "--network=none", f"--tag={image}", str(context))
    assert built.status == 0, built.stderr
    try:
        wait_for(lambda: containers.fill("python3", str(task), image=image).status == 0)
        assert containers.run("python3", str(task), image=image).stderr == "kept\n"
        for seed in SEEDS:
            chance = random.Random(seed)
            how = "; ".join(change(chance) for _ in range(chance.randint(1, 3)))
            script = context / "change.sh"
            script.write_text(
                f"({how}) 2>/dev/null\npython3 {task} > /seen\nMPIIMPORT=0 python3 {task} 2>&1 | diff /seen -\n"
            )
            outcome = containers.run("sh", str(script), image=image)
            assert outcome.stdout.splitlines()[1:] == ["> plain"], (
                f"seed {seed}: {how}\n{outcome.stdout}{outcome.stderr}"
            )
        assert containers.run("python3", str(task), image=image).stderr == "kept\n"
    finally:
        containers.host("podman", "rmi", "--force", image)
