"""What the runtime itself says in this interpreter: whether it would serve, with which MPI, from which store.

Imported by ``answer.py`` inside the tree that is asked about, so it needs nothing but the standard library.
"""

import ctypes
import os
import re
import signal
import sys
import types
from importlib.metadata import distributions
from pathlib import Path

from mpiimport.runtime.file_systems import file_system
from mpiimport.runtime.importing.libraries import mapped_files
from mpiimport.runtime.mpi.launcher import Launch, launch
from mpiimport.runtime.mpi.private_import import NoMpi, import_privately, own_packages
from mpiimport.runtime.options import OptionError, Options, from_environment
from mpiimport.runtime.payload.stamps import Mounts
from mpiimport.runtime.startup.decision import unserved_interpreter, why_not
from mpiimport.runtime.store.cache_names import batch_job
from mpiimport.runtime.store.memory import memory_left
from mpiimport.runtime.store.no_cache import why_no_place
from mpiimport.runtime.store.store import NoRoom, Store

MESSAGE_SECONDS = 20
LIBRARY = re.compile(r"libmpi(ch|_abi)?\.so")
ONE_NODE, SEVERAL_NODES = Launch(("", ""), 0, 2, 2, 1), Launch(("", ""), 0, 2, 1, 1)

Facts = dict[str, object]


def answers() -> Facts:
    """Return the facts of ``trees.Tree`` that the interpreter's version alone does not settle."""
    try:
        options = from_environment()
    except OptionError as exc:
        return {"several_nodes": str(exc)}
    return {
        "file_system": file_system(sys.prefix),
        "one_node": why_not(ONE_NODE, options),
        "several_nodes": why_not(SEVERAL_NODES, options),
        **_mpi(options),
        "stores": [_store(place, options) for place in options.store_places()],
        "memory_left": memory_left(),
        "not_cached": _not_cached(options),
    }


def rank() -> Facts:
    """Return the facts of ``trial.Rank``. Starts MPI, and ends it."""
    options = from_environment()
    try:
        module, _ = import_privately(before_site=False, preload=options.preload)
    except NoMpi as exc:
        return {"no_mpi": str(exc)}
    here = launch(options.rank_variables)
    module.Init()
    found: Facts = {
        "launched": here is not None,
        "launcher_size": here.size if here else None,
        "mpi_size": module.COMM_WORLD.size,
        "libmpi": _library(),
        "mpi": _name(module),
        "pmix": _pmix(),
        "told": _told(),
    }
    module.Finalize()
    return found


def _not_cached(options: Options) -> str:
    """Why a process with `cache: auto` keeps no store of this tree; empty where it does."""
    doubt = Mounts(options.cache_on).doubt(sys.prefix, Path(sys.prefix).stat().st_dev)
    waits = batch_job() and not options.session
    return (
        unserved_interpreter()
        or doubt
        or why_no_place(options.store_places(), options.session)
        or ("in a batch job a session keeps them: mpiimport session start" if waits else "")
    )


def message(size: int) -> Facts:
    """Exchange a message of so many bytes with a neighbour, and return why that fails; end by a signal where it never
    ends."""
    module, _ = import_privately(before_site=False, preload=from_environment().preload)
    module.Init()
    world = module.COMM_WORLD
    signal.alarm(MESSAGE_SECONDS)
    other = world.rank ^ 1
    if other < world.size:
        sent, received = bytes([world.rank % 256]) * size, bytearray(size)
        try:
            world.Sendrecv([sent, module.BYTE], other, 0, [received, module.BYTE], other, 0)
        except module.Exception as exc:
            return {"failed": str(exc).splitlines()[-1].strip()}
        if received != bytes([other % 256]) * size:
            return {"failed": "what arrives is not what was sent"}
    module.Finalize()
    return {}


def _mpi(options: Options) -> Facts:
    try:
        module, _ = import_privately(before_site=False, preload=options.preload)
    except NoMpi as exc:
        return {"no_mpi": str(exc)}
    package = Path(module.__file__ or "").parent
    versions = [found.version for found in distributions(name="mpi4py", path=[str(package.parent)])]
    return {
        "mpi4py": str(package),
        "mpi4py_version": versions[0] if versions else "",
        "mpi4py_is_ours": str(package).startswith(own_packages() + "/"),
        "libmpi": _library(),
        "pmix": _pmix(),
        "mpi": _name(module),
    }


def _name(module: types.ModuleType) -> str:
    """What the MPI library calls itself."""
    return " ".join(module.Get_library_version().partition(",")[0].splitlines()[0].split())


def _pmix() -> str:
    """The version of the PMIx library that this process has mapped."""
    file = next((path for path in sorted(mapped_files()) if Path(path).name.startswith("libpmix.so")), "")
    if not file:
        return ""
    ask = ctypes.CDLL(file).PMIx_Get_version
    ask.restype = ctypes.c_char_p
    said = re.search(r"[0-9]+(\.[0-9]+)+\w*", (ask() or b"").decode(errors="replace"))
    return said[0] if said else ""


def _told() -> str:
    """By what the launcher has this process know the others: PMIx with its version, PMI, or neither."""
    if "PMIX_RANK" in os.environ:
        return f"PMIx {os.environ.get('PMIX_VERSION', '')}".strip()
    return "PMI" if {"PMI_RANK", "PMI_FD", "PMI_PORT"} & set(os.environ) else ""


def _library() -> str:
    """The file of the MPI library that this process has mapped."""
    return next((path for path in sorted(mapped_files()) if LIBRARY.match(Path(path).name)), "")


def _store(place: str, options: Options) -> Facts:
    found: Facts = {"place": place, "kind": file_system(place)}
    try:
        # What every job's first rank does, for one byte.
        store = Store.create([place], {"code": 1}, options.store_size)
    except NoRoom as exc:
        return {**found, "refusal": str(exc)}
    store.leave()
    room = os.statvfs(place)
    return {**found, "executable": store.executable, "free": room.f_bavail * room.f_frsize}
