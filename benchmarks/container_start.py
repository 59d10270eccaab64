"""What our part adds to one container start: CPU, system calls and wall, side by side with the runtime alone.

    python benchmarks/container_start.py --prefix build/prefix --output results.json [--plugin APPTAINER]

Writes JSON: for each way the medians of CPU seconds (user and system, of all processes of the start) and wall seconds
over rounds in which the ways take turns, the number of system calls, and what each is above the runtime alone, in per
cent: for CPU and wall the median over the rounds. The container runs what a rank would start, ``python app.py``; that
python is ``true`` under another name.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.images import CAP_SYS_RESOURCE, UNAVAILABLE, Unavailable, has_capability, provision
from benchmarks.machine import describe

PROFILE = "mpich"
BASIS = "runtime"
BARE = "runtime of the plugin, without it"


@dataclass(frozen=True)
class Way:
    """One way to start the container: its command line, what it adds to the environment, what it is compared with."""

    command: list[str]
    environment: dict[str, str]
    basis: str = BASIS


RANK = {"PMI_RANK": "0", "PMI_SIZE": "1", "MPI_LOCALNRANKS": "1"}


def ways(prefix: Path, runtime: Path, image: Path, python: Path, plugin: Path | None) -> dict[str, Way]:
    flag = f"--mpiimport={PROFILE}"
    words = ["exec", str(image), str(python), "app.py"]
    shim = [str(prefix / "shim" / "apptainer"), "exec", flag, *words[1:]]
    found = {
        BASIS: Way([str(runtime), *words], RANK),
        "shim": Way(shim, RANK),
        "shim, plan in the environment": Way(shim, {**RANK, "MPIIMPORT_PLAN": shared_plan(prefix)}),
    }
    if plugin:
        found[BARE] = Way([str(without_plugins(plugin)), *words], RANK)
        found["plugin, not asked"] = Way([str(plugin), *words], RANK, BARE)
        found["plugin"] = Way([str(plugin), "exec", flag, *words[1:]], RANK, BARE)
    return found


def without_plugins(runtime: Path) -> Path:
    """Return the same runtime in another place, without plugins.

    Of hard links, for copies of one file differ by some per cent in how they lie in the page cache.
    """
    installed = runtime.parent.parent
    bare = installed.with_name(f"{installed.name}.bare")
    shutil.rmtree(bare, ignore_errors=True)
    shutil.copytree(installed, bare, symlinks=True, copy_function=os.link)
    for plugins in bare.glob("libexec/*/plugin"):
        shutil.rmtree(plugins)
        plugins.mkdir()
    return bare / "bin" / runtime.name


def shared_plan(prefix: Path) -> str:
    command = [prefix / "bin" / "mpiimport-plan", "share", "--profile", PROFILE]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def measure(way: Way) -> tuple[float, float]:
    """Start the container once; return CPU and wall seconds."""
    began = time.monotonic()
    pid = os.posix_spawn(
        way.command[0],
        way.command,
        {**os.environ, **way.environment},
        file_actions=[(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)],
    )
    _, status, usage = os.wait4(pid, 0)
    wall = time.monotonic() - began
    if status:
        raise SystemExit(f"ended with wait status {status}: {' '.join(way.command)}")
    return usage.ru_utime + usage.ru_stime, wall


def system_calls(way: Way) -> int:
    with tempfile.NamedTemporaryFile("r") as counts:
        command = ["strace", "-f", "-c", "-U", "calls,name", "-o", counts.name, *way.command]
        subprocess.run(command, env={**os.environ, **way.environment}, stdin=subprocess.DEVNULL, check=True)
        totals = [line.split()[0] for line in counts if line.split()[-1:] == ["total"]]
    return int(totals[-1])


def figures(
    name: str, basis: str, rounds: list[dict[str, tuple[float, float]]], calls: dict[str, int]
) -> dict[str, float]:
    found: dict[str, float] = {}
    for place, key in enumerate(("cpu_seconds", "wall_seconds")):
        found[key] = statistics.median(one[name][place] for one in rounds)
        ratio = statistics.median(one[name][place] / one[basis][place] for one in rounds)
        found[f"{key}_above_percent"] = round(100 * (ratio - 1), 1)
    found["system_calls"] = calls[name]
    found["system_calls_above_percent"] = round(100 * (calls[name] / calls[basis] - 1), 1)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--prefix", type=Path, required=True, help="the installed mpiimport")
    parser.add_argument("--output", type=Path, default=Path("/dev/stdout"), help="where the JSON goes")
    parser.add_argument(
        "--runtime", type=Path, help="the real apptainer, which the shim finds, too (that of the tests)"
    )
    parser.add_argument("--image", type=Path, help="(that of the tests, as a sandbox)")
    parser.add_argument("--plugin", type=Path, help="an apptainer that has the plugin")
    parser.add_argument("--rounds", type=int, default=31)
    arguments = parser.parse_args()
    prefix = arguments.prefix.resolve()
    try:
        runtime = arguments.runtime or Path(provision("apptainer.sh"))
        image = arguments.image or Path(provision("images.sh").removeprefix("images: ")) / "py"
    except Unavailable as exc:
        print(f"container_start: {exc}", file=sys.stderr)
        return UNAVAILABLE
    os.environ["PATH"] = f"{runtime.parent}:{os.environ['PATH']}"
    if os.geteuid() == 0 and not has_capability(CAP_SYS_RESOURCE):
        os.environ["APPTAINER_DROP_CAPS"] = "CAP_SYS_RESOURCE"
    # The runtimes show /tmp in their containers.
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        python = Path(directory) / "python"
        shutil.copy(image / "bin" / "true", python)
        chosen = ways(prefix, runtime, image, python, arguments.plugin)
        for way in chosen.values():
            measure(way)  # fills the caches
        rounds = [{name: measure(way) for name, way in chosen.items()} for _ in range(arguments.rounds)]
        calls = {name: system_calls(way) for name, way in chosen.items()}
    if arguments.plugin:
        shutil.rmtree(Path(chosen[BARE].command[0]).parent.parent)
    result = {name: figures(name, way.basis, rounds, calls) for name, way in chosen.items()}
    arguments.output.write_text(
        json.dumps({"machine": describe(prefix, runtime=[runtime, "--version"]), "ways": result}, indent=2) + "\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
