"""Which state that an import makes is made new in each process, or held by the key: causes and differences, by module.

Nothing is here by trust in a package: a row names the one cause, and what answers it, a reinitialiser or a part of the
key.
A cause without a row keeps its module out of the image.
"""

import re
from collections.abc import Iterable, Mapping

from ..restore.package_reinitialisers import WITH_OPENSSL, WITH_TOKEN
from .observations import (
    CHILD,
    ENTROPY,
    FILES,
    FORKS,
    HASHES,
    HOST,
    IDENTITY,
    KERNEL,
    LIMITS,
    MACHINE,
    MAPPINGS,
    MEMORY,
    NETWORK,
    NUMBER,
    PLACE,
    PROCESSOR,
    STREAMS,
    TERMINAL,
    THREAD,
    TIME,
    VARIABLES,
)
from .observer import DRAWN, FRAMES, PROGRAM, RELATIVE, SEARCH, SITE

# Modules that define such classes: file systems.
FSSPEC = ("spec", "asyn", "archive", *(f"implementations.{name}" for name in ("local", "memory", "cached", "http")))
# Modules that draw such tokens.
WITH_TOKENS = (
    *("xarray.backends.locks", "zarr.core.config"),
    *("dask.dataframe.io.sql", "dask.dataframe.dask_expr.io.parquet"),
)
LLVM = "it asks where it is in its output, and goes nowhere else"
# (module, cause) -> reinitialiser, or why it is nothing to another process.
ANSWERS: Mapping[tuple[str, str], str] = {
    ("random", ENTROPY): "after_fork",
    ("numpy.random.mtrand", ENTROPY): "numpy",
    ("multiprocessing.process", ENTROPY): "multiprocessing",
    ("multiprocessing.process", PLACE): "multiprocessing",
    ("mpiimport.runtime.messages", STREAMS): "streams",
    ("threading", NUMBER): "native_id",
    ("logging", TIME): "logging",
    ("numpy.f2py.rules", TIME): "f2py",
    ("numpy.testing._private.utils", NUMBER): "numpy_testing",
    # Its generator takes what it gives from the system; that of Python 3.10 has a seed that it makes no use of.
    ("secrets", ENTROPY): "nothing",
    ("platform", HOST): "platform",
    (RELATIVE, PLACE): "the current directory is in the key, and what modules could be there",
    # Whether the user's own packages are searched.
    (SITE, IDENTITY): "an image is for one user, and for no program with other rights",
    # `uname -p`, of which the answer is kept.
    ("platform", CHILD): "the processor is in the key",
    ("multiprocessing.util", LIMITS): "multiprocessing",
    # astropy has a copy of it. Either compares the locale and the names of the time zone when it reads a time.
    **dict.fromkeys([(name, TIME) for name in ("_strptime", "astropy.extern._strptime")], "time_zone"),
    ("pandas._libs.tslibs.strptime", TIME): "time_zone",
    ("dateutil.parser._parser", TIME): "dateutil",
    # What the kernel can tell, which follows from its version; and what it has counted.
    ("psutil._pslinux", KERNEL): "the kernel's version is in the key",
    ("psutil._pslinux", NUMBER): "the kernel's version is in the key",
    ("psutil._pslinux", MACHINE): "psutil",
    ("psutil", MACHINE): "psutil",
    # Semaphores of a trial that is over.
    ("joblib._multiprocessing_helpers", FILES): "nothing",
    ("joblib._multiprocessing_helpers", ENTROPY): "temporary_names",
    ("joblib._multiprocessing_helpers", NUMBER): "temporary_names",
    ("joblib._multiprocessing_helpers", DRAWN): "temporary_names",
    ("sympy.core.symbol", DRAWN): "sympy",
    # Whether the system has the protocol: in another namespace of the network it may not.
    ("urllib3.util.connection", NETWORK): "urllib3",
    # A child seeds its generators when it first uses them, and so does each start.
    ("numba._helperlib", FORKS): "its generators have no seed",
    # See `Observer._watch_argparse`.
    ("argparse", TERMINAL): "nothing",
    # How wide it is.
    ("numba.core.types.functions", TERMINAL): "numba",
    ("llvmlite.binding.dylib", STREAMS): LLVM,
    # libffi, for its first callback: how memory may be executed, and which file it is.
    ("llvmlite.binding.executionengine", MACHINE): "the kernel's version is in the key",
    ("_ctypes", MACHINE): "the kernel's version is in the key",
    # A mark of its memory, and its own number among the names of processes.
    ("_ctypes", TIME): "nothing",
    ("_ctypes", NUMBER): "nothing",
    ("_ctypes", MAPPINGS): "the maker keeps it from files",
    # How many processors its control group may use.
    ("dask.system", MACHINE): "dask",
    ("dask.system", NUMBER): "nothing",
    # Each of its classes keeps it, and has it made new in a child.
    **dict.fromkeys([(f"fsspec.{name}", NUMBER) for name in FSSPEC], "after_fork"),
    # What files are called of which it keeps the modules.
    ("inspect", PLACE): "inspect",
    ("inspect", PROGRAM): "inspect",
    # Whether the kernel tells of a child's end by a descriptor, in Python 3.15.
    ("subprocess", KERNEL): "the kernel's version is in the key",
    ("subprocess", NUMBER): "nothing",
    # `ldconfig -p`, which prints /etc/ld.so.cache.
    ("ctypes.util", CHILD): "the file is in the key",
    # Whether CUDA's libraries are there. They ask for the time, and for the kernel's release; without a device nothing
    # uses what they keep of it, and with a device's driver there is no image.
    ("torch", STREAMS): LLVM,
    ("triton._C.libtriton", STREAMS): LLVM,
    ("torch", SEARCH): "nothing beside the script has the names of NAMES_OF_LIBRARIES",
    # It keeps where a call comes from that waits for a device.
    ("torch.cuda", FRAMES): "CUDA's driver is not there",
    ("torch", MAPPINGS): "the image has the libraries",
    ("torch", HOST): "the kernel's version is in the key",
    ("torch", TIME): "CUDA's driver is not there",
    ("torch._C", TIME): "CUDA's driver is not there",
    # MKL looks for INTEL_ISA_DISABLE, and writes down a directory that nothing reads.
    ("torch._C", VARIABLES): "the variable is in the key",
    ("torch._C", PLACE): "nothing",
    # OpenSSL, jemalloc and mimalloc, which give memory back after a while; a page of a trial is given back whole. How
    # the kernel counts memory, and how much there is, tells them how to ask for it. jemalloc goes on without its thread
    # behind a fork.
    ("pyarrow.lib", NUMBER): "another_number",
    ("pyarrow.lib", TIME): "nothing that a program sees",
    ("pyarrow.lib", MEMORY): "nothing that a program sees",
    ("pyarrow.lib", MACHINE): "nothing that a program sees",
    ("pyarrow.lib", THREAD): "behind a fork jemalloc does without",
    # A process with another number makes its threads anew.
    ("numexpr", NUMBER): "another_number",
    ("numexpr", THREAD): "another_number",
    # How many parts a table of its locks has: the processors that its control group may use.
    ("cryptography.hazmat.bindings._rust", MACHINE): "nothing that a program sees",
    # What locks, and functions that dask delays, are told from those of other processes by.
    **dict.fromkeys([(name, ENTROPY) for name in WITH_TOKENS], "tokens"),
    # Its directory, to which it takes names of files, and in which it looks for its settings.
    ("netCDF4._netCDF4", PLACE): "netcdf",
    # Where a table begins to count links.
    ("rich.style", DRAWN): "rich",
    ("rich", PLACE): "rich",
    # How many bytes a part of a file has, by the memory that there is.
    ("dask.dataframe.io.csv", MACHINE): "dask_csv",
    # blosc makes its lock and its threads anew in a child, and numcodecs knows one by its number.
    ("numcodecs", FORKS): "numcodecs",
    ("numcodecs.blosc", NUMBER): "numcodecs",
    **dict.fromkeys([(f"filelock.{name}", NUMBER) for name in ("_api", "_unix", "_windows")], "filelock"),
    # When XLA's counters began, and whether gRPC can ask for the processor.
    ("jaxlib._jax", TIME): "nothing that a program sees",
    ("jaxlib._jax", PROCESSOR): "nothing that a program sees",
    ("jaxlib._jax", STREAMS): LLVM,
    # Whether there is a TPU, and a terminal with colours.
    ("jax", MACHINE): "jax",
    ("jax._src.pretty_printer", TERMINAL): "jax",
    # How long Kubernetes is given between two attempts.
    ("jax._src.clusters.k8s_cluster", DRAWN): "nothing that a program sees",
    # The default of an argument that its one caller, the grower, gives.
    ("sklearn.ensemble._hist_gradient_boosting.splitting", ENTROPY): "nothing that a program sees",
    # Which directory it finds for temporary files, by a trial.
    ("dill.session", PLACE): "dill",
    ("dill.session", FILES): "nothing",
    **dict.fromkeys([("dill.session", cause) for cause in (ENTROPY, NUMBER, DRAWN)], "temporary_names"),
    # OpenSSL, for client's contexts of TLS, and for keys that are tried and thrown away.
    **dict.fromkeys([(name, NUMBER) for name in WITH_OPENSSL], "another_number"),
    **dict.fromkeys([(name, TIME) for name in WITH_OPENSSL], "nothing that a program sees"),
    ("hypothesis.configuration", PLACE): "hypothesis",
    ("hypothesis.internal.observability", TIME): "hypothesis",
    # Which anniversaries it tells of.
    ("IPython.core.tips", TIME): "ipython",
    # How much memory a worker may use, and what begins the names of futures.
    ("distributed.system", MACHINE): "distributed",
    ("distributed.system", LIMITS): "distributed",
    ("distributed.client", ENTROPY): "distributed",
    ("tables.utilsextension", FORKS): "blosc makes its lock and its threads anew in a child",
    # What its documentation shows.
    ("scipy.stats._new_distributions", ENTROPY): "random numbers in an example",
}
# Module -> size and flags of each getrandom(2) that it does, of which all are seeds of hash tables, or of what no
# program is told: its source says so. Whoever draws more or less has no answer.
SEEDS: Mapping[str, tuple[tuple[int, int], ...]] = {
    # The seed of OpenSSL, see `another_number`, from which curl takes that of its hash tables (Curl_hash_global_init);
    # and mimalloc's (mi_random_init_ex), for the places of its blocks.
    "pyarrow.lib": ((48, 0), (32, 1)),
    # That of OpenSSL, as above.
    **dict.fromkeys(WITH_OPENSSL, ((48, 0),)),
    # libsodium tries the call, and marks with the other one the ends of memory that it guards (sodium_malloc).
    "nacl.bindings": ((16, 0), (16, 0)),
    # ahash: whether there is such a call, and the seeds (ahash::random_state::get_fixed_seeds).
    "pydantic.types": ((0, 0), (64, 0)),
    # libxml2, for its dictionaries and hash tables alone (xmlInitRandom).
    "lxml.etree": ((8, 0),),
}
# Module -> the directories in which it looks for libraries, in each entry of the search path.
NAMES_OF_LIBRARIES: Mapping[str, tuple[str, ...]] = {
    "torch": (
        *("nvidia", "cublas", "cudnn", "cuda_nvrtc", "cuda_runtime", "cuda_cupti", "cufft", "curand", "nvjitlink"),
        *("cusparse", "cusparselt", "cusolver", "nccl", "nvshmem", "cufile", "nvtx"),
    )
}
# Paths of differences between variation runs, as graph.py writes them -> reinitialiser.
DIFFERENCES: Mapping[str, str] = {
    r"mpiimport\.runtime\.messages:_at_start.*": "streams",
    r"logging:_startTime": "logging",
    r"random:_inst": "after_fork",
    r"threading:_main_thread\._native_id": "native_id",
    r"numpy\.random\.mtrand:_rand": "numpy",
    r"numpy\.f2py\.rules:(generationtime|module_rules\.modulebody)": "f2py",
    r"multiprocessing\.process:ORIGINAL_DIR": "multiprocessing",
    r"multiprocessing\.process:_current_process\._config\.authkey": "multiprocessing",
    r"(posix:environ|os:environ\._data)\[.*\]": "environment",
    r"sys:(orig_)?argv\[.*\]": "command_line",
    r"platform:_uname_cache.*": "platform",
    r"inspect:(modulesbyfile|_filesbymodname)[.\[].*": "inspect",
    r"sympy\.core\.symbol:Dummy\._base_dummy_index": "sympy",
    # What a trial was called that is over.
    r"joblib\._multiprocessing_helpers:name": "nothing",
    r"scipy\.stats\._new_distributions:\w+\.__doc__": "random numbers in an example",
    # It follows from addresses, as what it is compared with does: a start has those of the snapshot.
    r"astropy\.coordinates\.[\w.]+:(\w+\._frame_class_cache\.last_reprdiff_hash|get_reprdiff_cls_hash\W.*)": "nothing",
    r"([\w.]+\.)?more_itertools\.more:numeric_range\._EMPTY_HASH": "nothing",
    # Memory that nobody has written to, kept beside a key that no call can match.
    r"scipy\.signal\._short_time_fft:ShortTimeFFT\._cache_[tf]\[1\].*": "nothing",
    # What a loop over a set ends with.
    r"scipy\.sparse\._data:name": "nothing",
    r"numpy\.testing\._private\.utils:(memusage|jiffies)\.__defaults__.*": "numpy_testing",
    r"rich:_IMPORT_CWD|rich\.style:_id_generator": "rich",
    r"(xarray\.backends\.locks|dask\.utils|donfig\._lock):SerializableLock\._locks\..*": "tokens",
    r"numcodecs\.blosc:_importer_pid": "numcodecs",
    r"filelock\._api:_FORK_STATE\.pid": "filelock",
    r"jax\._src\.clusters\.k8s_cluster:retry\.__defaults__\[2\]": "nothing that a program sees",
    r"psutil:_last_(per_)?cpu_times.*": "psutil",
    r"hypothesis\.configuration:__hypothesis_home_directory_default.*": "hypothesis",
    r"hypothesis\.internal\.observability:_imported_at": "hypothesis",
    r"dill\.session:TEMPDIR\b.*|tempfile:tempdir": "dill",
    r"distributed\.client:Future\._uid": "distributed",
    # A name made of the address of the object that has it.
    r"distributed\.metrics:\w+\._callbacks<0>": "nothing",
    r"tables\.tests\.common:ShowMemTime\.tref": "tables",
}
# Classes of objects whose parts a reinitialiser makes new, wherever they are.
CLASSES: Mapping[str, str] = {
    "sympy.core.symbol.Dummy": "sympy",
    "tempfile._RandomNameSequence": "temporary_names",
    "fsspec.spec._Cached": "after_fork",
    **dict.fromkeys(WITH_TOKEN, "tokens"),
}


def names_of_libraries(modules: Iterable[str]) -> set[str]:
    """Return what modules look for beside the script."""
    return {name for module in modules for name in NAMES_OF_LIBRARIES.get(module, ())}


def answer(module: str, cause: str) -> str:
    """Return what answers a cause; nothing where there is no row."""
    return ANSWERS.get((module, cause), "")


def are_seeds(module: str, cause: str, drawn: Iterable[tuple[int, ...]]) -> bool:
    """Tell whether all that a module has drawn are seeds of hash tables. ``drawn``: see ``Causes.draws``."""
    return cause == HASHES or (cause == ENTROPY and SEEDS.get(module) == (*drawn,))


def is_made_new(path: str, holder: str) -> bool:
    """Tell whether a reinitialiser makes new what differs at this path, a part of an object of the class ``holder``."""
    return holder in CLASSES or any(re.fullmatch(pattern, path) for pattern in DIFFERENCES)
