"""Which state that an import makes is made new in each process, or held by the key: causes and differences, by module.

Nothing is here by trust in a package: a row names the one cause, and the remedy or the part of the key that answers it.
A cause without a row keeps its module out of the image.
"""

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from mpiimport import rank_variables

from .hazards import (
    CHILD,
    ENTROPY,
    FILES,
    FORKS,
    HOST,
    IDENTITY,
    KERNEL,
    LIMITS,
    MACHINE,
    MAPPINGS,
    NETWORK,
    NUMBER,
    PLACE,
    STREAMS,
    TERMINAL,
    TIME,
    VARIABLES,
)
from .witness import DRAWN, FRAMES, PROGRAM, SEARCH, SITE

# Modules that define such classes: file systems.
FSSPEC = ("spec", "asyn", "archive", *(f"implementations.{name}" for name in ("local", "memory", "cached", "http")))
LLVM = "it asks where it is in its output, and goes nowhere else"
# (module, cause) -> remedy, or why it is nothing to another process.
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
    # Whether the user's own packages are searched.
    (SITE, IDENTITY): "an image is for one user, and for no program with other rights",
    # `uname -p`, of which the answer is kept.
    ("platform", CHILD): "the processor is in the key",
    ("multiprocessing.util", LIMITS): "multiprocessing",
    ("_strptime", TIME): "time_zone",
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
    # What its documentation shows.
    ("scipy.stats._new_distributions", ENTROPY): "random numbers in an example",
}
# (module, cause) of modules that are left out -> by which name alone each keeps what it was told: its source says so.
KEPT: Mapping[tuple[str, str], str] = {
    ("rich", PLACE): "_IMPORT_CWD",
    ("hypothesis.configuration", PLACE): "__hypothesis_home_directory_default",
    ("dask.dataframe.io.csv", MACHINE): "AUTO_BLOCKSIZE",
    ("distributed.system", LIMITS): "MEMORY_LIMIT",
    ("distributed.system", MACHINE): "MEMORY_LIMIT",
}
# Module -> the directories in which it looks for libraries, in each entry of the search path.
NAMES_OF_LIBRARIES: Mapping[str, tuple[str, ...]] = {
    "torch": (
        *("nvidia", "cublas", "cudnn", "cuda_nvrtc", "cuda_runtime", "cuda_cupti", "cufft", "curand", "nvjitlink"),
        *("cusparse", "cusparselt", "cusolver", "nccl", "nvshmem", "cufile", "nvtx"),
    )
}
# Paths of differences between twins, as graph.py writes them -> remedy.
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
    # What a loop over a set ends with.
    r"scipy\.sparse\._data:name": "nothing",
    r"numpy\.testing\._private\.utils:(memusage|jiffies)\.__defaults__.*": "numpy_testing",
    r"psutil:_last_(per_)?cpu_times.*": "psutil",
}
# Classes of objects whose parts a remedy makes new, wherever they are.
CLASSES: Mapping[str, str] = {
    "sympy.core.symbol.Dummy": "sympy",
    "tempfile._RandomNameSequence": "temporary_names",
    "fsspec.spec._Cached": "after_fork",
}
# Generators that remedies seed in any case.
SEEDED_ANEW = ("random:_inst", "numpy.random.mtrand:_rand")
OURS = "MPIIMPORT"
# Variables that libraries may read without getenv, or that only their presence makes them read. PREFIX*: all of them.
PREFIXES = (
    "PYTHON*",
    "LC_*",
    "LD_*",
    "MALLOC_*",
    "OMP_*",
    "GOMP_*",
    "KMP_*",
    "MKL_*",
    "OPENBLAS_*",
    "BLIS_*",
    "NUMEXPR_*",
    "NPY_*",
    "GFORTRAN_*",
)
ALWAYS = (
    *("LANG", "LANGUAGE", "TZ", "TZDIR", "LOCPATH", "GLIBC_TUNABLES", "GCONV_PATH", "HOME"),
    *("GOTO_NUM_THREADS", "INTEL_ISA_DISABLE"),
)

# Who looks at all variables puts all of them in the key but these, which launchers, batch systems and shells give to
# each process. One of the twins has others of them, so who keeps anything of them is left out.
FREE = (
    *(name for row in rank_variables.VARIABLES for name in row if name),
    *(prefix + "*" for prefix in rank_variables.PREFIXES),
    *("SLURM_*", "SLURMD_*", "SRUN_*", "PBS_*", "LSB_*", "JSM_*", "FLUX_*", "OMPI_*", "PRTE_*", "I_MPI_*", "HYDRA_*"),
    *("PWD", "OLDPWD", "SHLVL", "_", "HOSTNAME", "SSH_*", "TMUX*", "WINDOWID", "XDG_SESSION_*", OURS + "*"),
)


def names_of_libraries(modules: Iterable[str]) -> set[str]:
    """Return what modules look for beside the script."""
    return {name for module in modules for name in NAMES_OF_LIBRARIES.get(module, ())}


def is_free(name: str) -> bool:
    """Tell whether a variable is one that each process may have otherwise."""
    return any(fnmatchcase(name, pattern) for pattern in FREE)


def answer(module: str, cause: str) -> str:
    """Return what answers a cause; nothing where there is no row."""
    return ANSWERS.get((module, cause), "")


def counts(path: str) -> bool:
    """Tell whether at a path there is what goes on by itself, and is made new: times, say. Of variables it is not."""
    return is_made_new(path, "") and "environ" not in path


def is_made_new(path: str, holder: str) -> bool:
    """Tell whether a remedy makes new what differs at this path, a part of an object of the class ``holder``."""
    return holder in CLASSES or any(re.fullmatch(pattern, path) for pattern in DIFFERENCES)
