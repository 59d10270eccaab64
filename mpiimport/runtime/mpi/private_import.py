"""Our own import of mpi4py, before user code and out of its sight."""

import sys

from .. import PREFIX, c_functions, os
from .extension import ANY, LIBRARY_VARIABLE, load_bare
from .preload import load_globally, make_global
from .rc_settings import MPI4PY, MPI_MODULE, Settings
from .site_outlook import environment_prefix, site_packages, user_site_and_prefixes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

# Where an installed mpiimport keeps an mpi4py for trees that have none, one directory per Python minor.
OWN_PACKAGES = "mpi4py"
# What would make the import start MPI, or end it behind our back.
START_VARIABLES = ("MPI4PY_RC_INITIALIZE", "MPI4PY_RC_FINALIZE")


class NoMpi(Exception):
    """MPI cannot be used here; the message says why and what would cure it."""


def import_privately(before_site: bool, preload: tuple[str, ...]) -> "tuple[ModuleType, list[object]]":
    """Import ``mpi4py.MPI`` from ``sys.path``, else our own, without starting MPI, and hide it.

    Return it with the settings that it will never look at again, ``Settings.read_at_load``.

    The standard library's modules that it imports stay. ``before_site``: ``site`` has still to put the tree's
    packages on ``sys.path``. ``preload``: libraries whose symbols MPI's own plugins are to see. Raises NoMpi.
    """
    if MPI_MODULE in sys.modules:
        raise NoMpi("mpi4py.MPI was imported before mpiimport could start; import it later")
    try:
        load_globally(preload)
    except (ImportError, OSError) as exc:
        raise NoMpi(f"a library to be preloaded does not load ({exc}); mend mpi.preload in the site profile") from None
    before = set(sys.modules)
    finders = list(sys.meta_path)
    saved = sys.path[:], sys.prefix, sys.exec_prefix
    variables = {name: os.environ.pop(name) for name in START_VARIABLES if name in os.environ}
    if before_site:
        environment = environment_prefix()
        if environment != sys.prefix:
            sys.prefix = sys.exec_prefix = environment
        sys.path += site_packages(environment)
    sys.path.append(own_packages())
    try:
        module = load_bare(sys.path, before_site) or _load_all(before_site)
        make_global(preload)
        read_at_load = Settings().read_at_load
    except (ImportError, RuntimeError) as exc:
        raise NoMpi(f"mpi4py does not load ({str(exc).splitlines()[0]}); {_remedy(exc)}") from None
    finally:
        sys.path[:], sys.prefix, sys.exec_prefix = saved
        sys.meta_path[:] = finders
        os.environ.update(variables)
        for name in set(sys.modules) - before:
            if name.partition(".")[0] == MPI4PY:
                del sys.modules[name]
    # The finder that was made for the package's directory would not hand the module over.
    sys.path_importer_cache.pop(os.path.dirname(module.__file__ or ""), None)
    return module, read_at_load


def _load_all(before_site: bool) -> "ModuleType":
    package = __import__(MPI4PY)
    package.rc(initialize=False, finalize=False)
    if not before_site:
        return _load_extension()
    # Where mpi4py looks for MPI follows from what site says.
    import site

    saved = site.ENABLE_USER_SITE, site.PREFIXES, site.USER_BASE
    site.ENABLE_USER_SITE, site.PREFIXES = user_site_and_prefixes()
    site.getuserbase()
    try:
        return _load_extension()
    finally:
        site.ENABLE_USER_SITE, site.PREFIXES, site.USER_BASE = saved


def _load_extension() -> "ModuleType":
    module: ModuleType = __import__(MPI_MODULE, fromlist=["COMM_WORLD"])
    return module


def own_packages() -> str:
    free_threaded = "t" * ("t" in sys.abiflags)
    return os.path.join(PREFIX, OWN_PACKAGES, f"cp{sys.version_info[0]}{sys.version_info[1]}{free_threaded}")


def _remedy(exc: Exception) -> str:
    if isinstance(exc, ModuleNotFoundError):
        return "install mpi4py, or run from an installed mpiimport, which brings one"
    if isinstance(exc, ImportError):
        return "load the module of the MPI that mpi4py was built with"
    named = os.environ.get(LIBRARY_VARIABLE, "")
    if not named:
        return f"set {LIBRARY_VARIABLE} to the file name of the MPI library"
    try:
        if not c_functions.address(c_functions.open_library(named), ANY):
            return f"{LIBRARY_VARIABLE} names {named}, which is no MPI library"
        return f"is {LIBRARY_VARIABLE}={named} the library of the launcher's MPI?"
    except OSError as loader:
        return f"{LIBRARY_VARIABLE}={named} does not load ({loader}); name the library of the launcher's MPI"
