"""MPI started by us, and what the user's own MPI calls then see: what they would see without us.

Our import of mpi4py is taken out of ``sys.modules``; when user code imports mpi4py, its Python part is loaded
as usual and the loaded ``mpi4py.MPI`` is handed over under the user's own ``mpi4py.rc``.
"""

import os
import sys
from _frozen_importlib_external import (
    ExtensionFileLoader,
    FileFinder,
    spec_from_file_location,
)

from . import PREFIX
from .machinery import supported_file_loaders

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

# Where an installed mpiimport keeps an mpi4py for trees that have none, one directory per Python minor.
OWN_PACKAGES = "mpi4py"
LEVELS = ("single", "funneled", "serialized", "multiple")
PACKAGE = "mpi4py"
MODULE = "mpi4py.MPI"


class NoMpi(Exception):
    """MPI cannot be used here; the message says why and what would cure it."""


class Ownership:
    """The MPI that this process has initialised.

    ``mpi``: the module ``mpi4py.MPI``; ``path``: its file; ``adopted``: user code has taken it over.
    """

    def __init__(self, level: str, before_site: bool) -> None:
        """Import mpi4py from ``sys.path``, else our own, and initialise MPI with thread level ``level``.

        ``before_site``: ``site`` has still to put the tree's packages on ``sys.path``.
        Raises NoMpi.
        """
        if MODULE in sys.modules:
            raise NoMpi("mpi4py.MPI was imported before mpiimport could start; import it later")
        before = set(sys.modules)
        self._finders = list(sys.meta_path)
        saved = sys.path[:], sys.prefix, sys.exec_prefix
        if before_site:
            sys.prefix = sys.exec_prefix = environment_prefix()
            sys.path += site_packages(sys.prefix)
        sys.path.append(own_packages())
        try:
            package = __import__(PACKAGE)
            package.rc(initialize=False, finalize=False)
            self.mpi: ModuleType = __import__(MODULE, fromlist=["COMM_WORLD"])
        except (ImportError, RuntimeError) as exc:
            self._hide(before)
            raise NoMpi(f"mpi4py does not load ({str(exc).splitlines()[0]}); {_remedy(exc)}") from None
        finally:
            sys.path[:], sys.prefix, sys.exec_prefix = saved
        if self.mpi.Is_initialized():
            raise NoMpi("MPI is already initialised in this process")
        self._provided: int = self.mpi.Init_thread(_level(self.mpi, level))
        self.path: str = self.mpi.__file__ or ""
        self._ours = self.path.startswith(own_packages() + "/")
        self.adopted = False
        self._finalize = True
        self._aborting = False
        self._pid = os.getpid()
        self._hide(before)

    def spec(self, name: str) -> "ModuleSpec | None":
        """Return the spec that hands ``mpi4py.MPI`` over to user code; None for other names."""
        if name != MODULE or self._ours:
            return None
        return spec_from_file_location(name, self.path, loader=HandoverLoader(self))

    def path_hook(self, path: str) -> "HandoverFinder":
        """Serve the directory of ``mpi4py.MPI``, where nothing else does. Raises ImportError for others."""
        if path != os.path.dirname(self.path):
            raise ImportError(path)
        return HandoverFinder(self, path)

    def supports(self) -> None:
        """Raise NoMpi where this MPI is older than MPI-3 (nonblocking collectives, groups)."""
        version = self.mpi.Get_version()
        if version < (3, 0):
            raise NoMpi(f"this MPI is version {version[0]}.{version[1]}; MPI 3.0 or newer is needed")

    def active(self) -> bool:
        """Tell whether this process, not a forked child, has MPI between Init and Finalize."""
        mpi: Any = self.mpi
        return os.getpid() == self._pid and mpi.Is_initialized() and not mpi.Is_finalized()

    def hand_over(self, module: "ModuleType") -> None:
        """Let user code that imports ``mpi4py.MPI`` find it in the state its ``mpi4py.rc`` asks for."""
        if self.adopted:
            return
        rc = sys.modules[PACKAGE].rc
        if _setting(rc, "initialize"):
            self._adopt(_setting(rc, "finalize") in (None, True))
        else:
            self._defer(module, _setting(rc, "finalize") is True)
        handlers = {
            "default": self.mpi.ERRORS_ARE_FATAL,
            "fatal": self.mpi.ERRORS_ARE_FATAL,
            "abort": getattr(self.mpi, "ERRORS_ABORT", self.mpi.ERRORS_ARE_FATAL),
        }
        handler = handlers.get(str(_setting(rc, "errors")))
        if handler is not None:
            self.mpi.COMM_WORLD.Set_errhandler(handler)
            self.mpi.COMM_SELF.Set_errhandler(handler)

    def will_finalize(self) -> bool:
        """Tell whether this process is to finalise MPI at its exit.

        User code may keep that for itself; a forked child and a job about to be aborted are left alone.
        """
        return self._finalize and self.active() and not self._aborting

    def finish(self) -> None:
        """At exit, after all other exit handlers, see to MPI_Finalize."""
        if self.will_finalize():
            _finalize_after_interpreter(self.path)

    def finish_at_once(self) -> None:
        """Before ``os._exit``, finalise where user code never touched MPI: without us that ends no other rank."""
        if not self.adopted and self.active():
            self.mpi.Finalize()

    def abort_at_exit(self, status: int) -> None:
        """Make the end of this process end the job, as ``python -m mpi4py`` does after an exception."""
        if self.active():
            self._aborting = True
            self.mpi._set_abort_status(status)

    def _adopt(self, finalize: bool) -> None:
        self.adopted = True
        self._finalize = finalize

    def _defer(self, module: "Any", finalize: bool) -> None:
        """Make MPI look uninitialised until user code calls Init or Init_thread, which then adopts it."""
        real = {name: getattr(module, name) for name in ("Init", "Init_thread", "Is_initialized")}

        def adopt(required: int) -> int:
            if required > self._provided:
                names = LEVELS[_order(self.mpi, required)], LEVELS[_order(self.mpi, self._provided)]
                raise RuntimeError(
                    f"mpiimport started MPI with thread level {names[1]!r} and this call asks for {names[0]!r}: "
                    f"set MPIIMPORT_THREAD_LEVEL={names[0]} (or thread_level in the site profile)"
                )
            for name, function in real.items():
                setattr(module, name, function)
            self._adopt(finalize)
            return self._provided

        def init() -> None:
            adopt(self._provided)

        def init_thread(required: int = module.THREAD_MULTIPLE) -> int:
            return adopt(required)

        module.Init = init
        module.Init_thread = init_thread
        module.Is_initialized = lambda: False

    def _hide(self, before: set[str]) -> None:
        """Take our mpi4py out of sight; the standard library's modules it imported stay."""
        for name in set(sys.modules) - before:
            if name.partition(".")[0] == PACKAGE:
                del sys.modules[name]
        sys.meta_path[:] = self._finders


class HandoverLoader(ExtensionFileLoader):
    """Gives user code the ``mpi4py.MPI`` that is loaded already: it cannot be loaded twice."""

    def __init__(self, ownership: Ownership) -> None:
        super().__init__(MODULE, ownership.path)
        self._ownership = ownership

    def create_module(self, spec: "ModuleSpec") -> "ModuleType":
        return self._ownership.mpi

    def exec_module(self, module: "ModuleType") -> None:
        self._ownership.hand_over(module)


class HandoverFinder(FileFinder):
    """The ordinary finder of mpi4py's directory, save for ``mpi4py.MPI``."""

    def __init__(self, ownership: Ownership, path: str) -> None:
        super().__init__(path, *supported_file_loaders())
        self._ownership = ownership

    def find_spec(self, fullname: str, target: "ModuleType | None" = None) -> "ModuleSpec | None":
        return self._ownership.spec(fullname) or super().find_spec(fullname, target)


def _setting(rc: "Any", name: str) -> object:
    """Return an option of ``mpi4py.rc`` as mpi4py reads it: ``MPI4PY_RC_<NAME>`` first; yes and no are bools."""
    value = os.environ.get("MPI4PY_RC_" + name.upper(), getattr(rc, name, None))
    if isinstance(value, str):
        text = value.lower()
        return {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}.get(text, text)
    return value


def _level(mpi: "Any", name: str) -> int:
    if name not in LEVELS:
        raise NoMpi(f"unknown thread level {name!r}; known are {', '.join(LEVELS)}")
    level: int = getattr(mpi, "THREAD_" + name.upper())
    return level


def _order(mpi: "Any", level: int) -> int:
    return [getattr(mpi, "THREAD_" + name.upper()) for name in LEVELS].index(level)


def _remedy(exc: Exception) -> str:
    if isinstance(exc, RuntimeError):
        return "set MPI4PY_LIBMPI to the file name of the MPI library"
    return "install mpi4py, or run from an installed mpiimport, which brings one"


def environment_prefix() -> str:
    """Return what ``sys.prefix`` is once ``site`` has run: a virtual environment's own directory."""
    if sys.prefix == sys.base_prefix and sys._base_executable != sys.executable:  # type: ignore[attr-defined]
        return os.path.dirname(os.path.dirname(sys.executable))
    return sys.prefix


def site_packages(prefix: str) -> list[str]:
    """Return the directories of ``prefix`` that ``site.main()`` adds to ``sys.path``."""
    import site

    return site.getsitepackages([prefix])


def own_packages() -> str:
    return os.path.join(PREFIX, OWN_PACKAGES, f"cp{sys.version_info[0]}{sys.version_info[1]}")


def _finalize_after_interpreter(path: str) -> None:
    """Register MPI_Finalize for where mpi4py calls it: after destructors that free MPI objects have run."""
    import ctypes

    finalize = ctypes.cast(ctypes.CDLL(path).MPI_Finalize, ctypes.c_void_p)
    register = ctypes.pythonapi.Py_AtExit
    register.argtypes = [ctypes.c_void_p]
    register(finalize)
