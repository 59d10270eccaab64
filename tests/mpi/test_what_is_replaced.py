"""What mpiimport replaces in the interpreter is what docs/architecture.md lists, and nothing else."""

import re

from lab.ranks import Mpi
from tests.conftest import ROOT, Job

LOOK = """
import atexit, ctypes, importlib.metadata, io, multiprocessing.util, os, subprocess, sys, sysconfig, threading, warnings
from mpi4py import MPI
def is_ours(value):
    value = getattr(value, "__func__", value)
    value = value.fget if type(value) is property else value
    return type(value) is type(is_ours) and str(value.__globals__.get("__name__")).startswith("mpiimport.")
def comes_from_us(value):
    return is_ours(value) or str(getattr(type(value), "__module__", "")).startswith("mpiimport.")
found = set()
for name, module in list(sys.modules.items()):
    if name.startswith("mpiimport") or not hasattr(module, "__dict__"):
        continue
    for key, value in list(vars(module).items()):
        if is_ours(value):
            found.add(f"{name}.{key}")
        for inner, member in list(vars(value).items()) if isinstance(value, type) else ():
            if is_ours(member):
                found.add(f"{value.__module__}.{value.__qualname__}.{inner}")
for key in "path_hooks", "meta_path":
    if any(map(comes_from_us, getattr(sys, key))):
        found.add(f"sys.{key}")
if any(map(comes_from_us, sys.path_importer_cache.values())):
    found.add("sys.path_importer_cache")
if MPI.COMM_WORLD.rank == 0:
    print(*found, sep="\\n")
"""


def listed() -> set[str]:
    text = (ROOT / "docs" / "architecture.md").read_text()
    section = text.partition("## What is replaced in the interpreter\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall("`([^`]+)`", row)}


def test_nothing_is_replaced_that_is_not_listed(job: Job, mpich: Mpi, entry_point: str) -> None:
    outcome = job.run(mpich, 2, job.script(LOOK), entry_point=entry_point)
    assert outcome.status == 0, outcome.stderr
    of_this_entry_point = listed() if entry_point == "sitecustomize" else listed() - {"sys.excepthook"}
    assert set(outcome.stdout.split()) == of_this_entry_point


def test_a_plain_program_finds_nothing_replaced(job: Job, mpich: Mpi) -> None:
    outcome = job.run(mpich, 2, job.script(LOOK), entry_point="plain")
    assert outcome.stdout.split() == []
