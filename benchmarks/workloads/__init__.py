"""What benchmarks import: each workload by its name, with the program that imports it and how its packages are had."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.workloads.generators import linked_modules, pure_modules


@dataclass(frozen=True)
class Workload:
    """``imports``: the statements measured; ``package``: one that they import. It lies in the environment that runs the
    benchmark; or, in a directory of the workload's own, ``requirements`` by pip or what ``generate`` writes there."""

    package: str
    imports: str
    requirements: tuple[str, ...] = ()
    generate: Callable[[Path], None] | None = None


# Versions as in tests/support/corpus/corpus.txt.
NUMBERS = ("numpy==2.4.6", "scipy==1.17.1")
WORKLOADS = {
    "scipy": Workload("numpy", "import numpy; import scipy.interpolate"),
    "scikit-learn": Workload(
        "matplotlib",
        "import matplotlib.pyplot; import pandas; import sklearn.ensemble",
        (*NUMBERS, "matplotlib==3.11.2", "pandas==3.1.1", "scikit-learn==1.9.1"),
    ),
    # PyPI's torch brings gigabytes of libraries for graphics cards; jax is 90 MB.
    "jax": Workload("jax", "import jax, jax.numpy", (*NUMBERS, "jax==0.10.2", "jaxlib==0.10.2")),
    "pure": Workload("pure", "import pure.everything", generate=pure_modules),
    "linked": Workload("linked", "import linked.everything", generate=linked_modules),
}


def prepare(name: str, directory: Path) -> Path | None:
    """Make the workload's own directory below ``directory`` where it is not yet there, byte-compiled, and return it.

    None where it has none. Raises CalledProcessError where pip or gcc fails.
    """
    workload = WORKLOADS[name]
    if not workload.requirements and not workload.generate:
        return None
    own = directory / name
    if not own.exists():
        unfinished = directory / f"{name}.{os.getpid()}"
        unfinished.mkdir(parents=True)
        try:
            _fill(workload, unfinished)
            unfinished.rename(own)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    return own


def _fill(workload: Workload, directory: Path) -> None:
    python = [sys.executable, "-m"]
    if workload.requirements:
        pip = [*python, "pip", "install", "--quiet", "--no-compile", "--target", str(directory)]
        subprocess.run([*pip, *workload.requirements], check=True)
    if workload.generate:
        workload.generate(directory)
        # As an installer leaves packages: else they were the user's own code.
        metadata = directory / f"{workload.package}-1.dist-info" / "METADATA"
        metadata.parent.mkdir()
        metadata.write_text(f"Metadata-Version: 2.1\nName: {workload.package}\nVersion: 1\n")
    # Some packages bring files for other versions of Python, which do not compile.
    subprocess.run([*python, "compileall", "-q", "-j", "0", str(directory)], stdout=subprocess.DEVNULL)
