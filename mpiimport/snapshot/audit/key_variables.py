"""Environment variables of the key, and those that each process may have otherwise."""

import os
from collections.abc import Collection
from fnmatch import fnmatchcase

from mpiimport import rank_variables

HASH_SEEDS = "MPIIMPORT_SNAPSHOT_HASH_SEEDS"
OURS = ("MPIIMPORT", "_MPIIMPORT")
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
    *("GOTO_NUM_THREADS", "INTEL_ISA_DISABLE", HASH_SEEDS),
)

# Who looks at all variables puts all of them in the key but these, which launchers, batch systems and shells give to
# each process. One variation run has others of them, so a module that keeps anything of them is excluded.
FREE = (
    *(name for row in rank_variables.VARIABLES for name in row if name),
    *(prefix + "*" for prefix in rank_variables.PREFIXES),
    *("SLURM_*", "SLURMD_*", "SRUN_*", "PBS_*", "LSB_*", "JSM_*", "FLUX_*", "OMPI_*", "PRTE_*", "I_MPI_*", "HYDRA_*"),
    # What a container is handed in for MPI where its ranks have user namespaces of their own.
    *("MPIR_CVAR_CH4_CMA_ENABLE", "FI_SHM_DISABLE_CMA", "UCX_POSIX_USE_PROC_LINK"),
    # Which process was Dask's first: each worker asks for it as it is now.
    "__DASK_PARENT_PID",
    *("PWD", "OLDPWD", "SHLVL", "_", "HOSTNAME", "SSH_*", "TMUX*", "WINDOWID", "XDG_SESSION_*"),
    *(name + "*" for name in OURS),
)


def is_free(name: str) -> bool:
    """Tell whether a variable is one that each process may have otherwise."""
    return any(fnmatchcase(name, pattern) for pattern in FREE)


def of_key(read: Collection[str], whole: bool) -> dict[bytes, bytes | None]:
    """Return the variables of the key with their values, and the prefixes that no other variables have.

    ``read``: those that were asked for; ``whole``: all were looked at.
    """
    patterns = (*PREFIXES, *(("*",) if whole else ()))
    starts = tuple(pattern[:-1] for pattern in patterns)
    there = {name for name in os.environ if name.startswith(starts)}
    if whole:
        there = {name for name in there if not is_free(name)}
    names = map(os.fsencode, there.union(read))
    return {**{name: os.environb.get(name) for name in names}, **{pattern.encode(): None for pattern in patterns}}
