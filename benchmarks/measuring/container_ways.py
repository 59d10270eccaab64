"""The ways to start a container that ``container_start.py`` compares: each runtime alone, and with us."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measuring.containers import without_lacking_capability
from lab.provisioning import Unavailable, provision, provisioned_images

PROFILE = "mpich"
RANK = {"PMI_RANK": "0", "PMI_SIZE": "1", "MPI_LOCALNRANKS": "1"}
DOCKERFILE = Path(__file__).resolve().parents[2] / "containers" / "entrypoint.Dockerfile"
IMAGE, SERVED = "localhost/mpiimport-py", "mpiimport-entrypoint"
# podman.sh keeps here what must not outlive the machine's uptime.
PODMAN_RUN = "/run/mpiimport-podman/root"


@dataclass(frozen=True)
class Way:
    """One way to start the container: its command line, what it adds to the environment, what it is compared with."""

    command: list[str]
    environment: dict[str, str]
    basis: str


def all_ways(prefix: Path, resources: ExitStack) -> tuple[dict[str, Way], dict[str, str]]:
    """Return the ways of this machine, and why those are missing that it does not have.

    What they need besides is gone with ``resources``. Raises Unavailable where there are no images.
    """
    sandbox = provisioned_images("py") / "py"
    # The runtimes show /tmp in their containers.
    python = Path(resources.enter_context(tempfile.TemporaryDirectory(dir="/tmp"))) / "python"
    shutil.copy(sandbox / "bin" / "true", python)
    words = [str(sandbox), str(python), "app.py"]
    ways: dict[str, Way] = {}
    missing = {}
    entry_points: dict[str, Callable[[], dict[str, Way]]] = {
        "shim": lambda: shim_ways(prefix, words),
        "plugin": lambda: plugin_ways(prefix, words, resources),
        "hook and entrypoint": lambda: podman_ways(prefix, python),
    }
    for entry_point, ways_of in entry_points.items():
        found, reason = found_or_reason(ways_of)
        ways |= found
        if reason:
            missing[entry_point] = reason
            print(f"container_start: no {entry_point}: {reason}", file=sys.stderr)
    return ways, missing


def found_or_reason(ways_of: Callable[[], dict[str, Way]]) -> tuple[dict[str, Way], str]:
    try:
        return ways_of(), ""
    except Unavailable as exc:
        return {}, str(exc)


def shim_ways(prefix: Path, words: list[str]) -> dict[str, Way]:
    """``words``: image, command and argument, as a rank would start them."""
    runtime = Path(provision("apptainer.sh"))
    environment = RANK | of_root(runtime) | {"PATH": f"{runtime.parent}:{os.environ['PATH']}"}
    shim = [str(prefix / "shim" / runtime.name), "exec", f"--mpiimport={PROFILE}", *words]
    plan: list[str | Path] = [prefix / "bin" / "mpiimport-plan", "share", "--profile", PROFILE]
    shared = subprocess.run(plan, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    basis = "apptainer"
    return {
        basis: Way([str(runtime), "exec", *words], environment, basis),
        "shim": Way(shim, environment, basis),
        "shim, plan in the environment": Way(shim, environment | {"_MPIIMPORT_PLAN": shared}, basis),
    }


def plugin_ways(prefix: Path, words: list[str], resources: ExitStack) -> dict[str, Way]:
    plugin = Path(provision("plugin.sh", str(prefix)))
    environment = RANK | of_root(plugin)
    basis = "apptainer of the plugin, without it"
    return {
        basis: Way([str(without_plugins(plugin, resources)), "exec", *words], environment, basis),
        "plugin, not asked": Way([str(plugin), "exec", *words], environment, basis),
        "plugin": Way([str(plugin), "exec", f"--mpiimport={PROFILE}", *words], environment, basis),
    }


def podman_ways(prefix: Path, python: Path) -> dict[str, Way]:
    settings = Path(provision("podman.sh")) / "root"
    environment = {
        "XDG_RUNTIME_DIR": PODMAN_RUN,
        "CONTAINERS_CONF": str(settings / "containers.conf"),
        "CONTAINERS_STORAGE_CONF": str(settings / "storage.conf"),
    }
    build = ["podman", "build", "--quiet", f"--file={DOCKERFILE}", f"--build-arg=BASE={IMAGE}", f"--tag={SERVED}"]
    outcome = subprocess.run([*build, prefix], env=os.environ | environment, stdout=subprocess.PIPE)
    if outcome.returncode != 0:
        raise Unavailable(f"podman cannot build {DOCKERFILE.name}")
    variables = [f"--env={name}={value}" for name, value in RANK.items()]
    run = ["run", "--rm", f"--volume={python.parent}:{python.parent}", *variables]
    hooks = ["podman", f"--hooks-dir={prefix}/share/containers/oci/hooks.d/podman", *run]
    subprocess.run([prefix / "bin" / "mpiimport-plan", "release", PROFILE], check=True, stdout=subprocess.DEVNULL)
    annotation = f"--annotation=org.mpiimport.profile={PROFILE}"
    command = [str(python), "app.py"]
    basis, bare = "podman", "podman, image of the entrypoint without it"
    return {
        basis: Way(["podman", *run, IMAGE, *command], environment, basis),
        "hook, not asked": Way([*hooks, IMAGE, *command], environment, basis),
        "hook": Way([*hooks, annotation, IMAGE, *command], environment, basis),
        bare: Way(["podman", *run, f"--entrypoint={python}", SERVED, "app.py"], environment, bare),
        "entrypoint": Way(["podman", *run, SERVED, *command], environment, bare),
    }


def of_root(runtime: Path) -> dict[str, str]:
    return without_lacking_capability(runtime) if os.geteuid() == 0 else {}


def without_plugins(runtime: Path, resources: ExitStack) -> Path:
    """Return the same runtime in another place, without plugins.

    Of hard links, for copies of one file differ by some per cent in how they lie in the page cache.
    """
    installed = runtime.parent.parent
    place = resources.enter_context(tempfile.TemporaryDirectory(prefix="without-plugins-", dir=installed.parent))
    bare = shutil.copytree(installed, Path(place) / "apptainer", symlinks=True, copy_function=os.link)
    for plugins in bare.glob("libexec/*/plugin"):
        shutil.rmtree(plugins)
        plugins.mkdir()
    return bare / "bin" / runtime.name
