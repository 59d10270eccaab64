"""What is not in an image comes from the program's kept store, once the program looks for a module's file."""

import sys
from _frozen_importlib_external import FileFinder
from _functools import partial  # type: ignore[import-not-found]

from mpiimport.runtime import os, time
from mpiimport.runtime.c_functions import ctypes_core
from mpiimport.runtime.messages import say
from mpiimport.runtime.mpi.launcher import launch
from mpiimport.runtime.option_table import SESSION
from mpiimport.runtime.options import from_environment
from mpiimport.runtime.serving.account import Account, file_of
from mpiimport.runtime.serving.site_answers import Answers
from mpiimport.runtime.startup.closed_streams import ClosedStreamsKept
from mpiimport.runtime.startup.kept import Attached
from mpiimport.runtime.store.kept_key import settings_of
from mpiimport.runtime.store.place import Place

from .signals_held import SignalsHeld

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _frozen_importlib import ModuleSpec
    from types import ModuleType
    from typing import Any

# The methods of importlib's finders in whose place ours stand until one is called.
FIND, INVALIDATE = "find_spec", "invalidate_caches"
CTYPES = "_ctypes"


class StoreBehind:
    """``key``: of the kept store; ``settings``: of ``settings_of``, for which it was filled."""

    def __init__(self, key: str, settings: "tuple[object, ...]") -> None:
        self._key = key
        self._settings = settings
        self._waits: list[Any] = []

    def wait(self) -> None:
        """Have the finders of the directories that the imports have looked at ask here first, all of them once."""
        # The program may see what is imported by it.
        with _CtypesOfOurs():
            ctypes_core()
        for path, finder in sys.path_importer_cache.items():
            if type(finder) is FileFinder:
                finder.__dict__[FIND] = partial(self._find, path)
                finder.__dict__[INVALIDATE] = partial(self._invalidate, finder)
                self._waits.append(finder)

    def _find(self, path: str, name: str, target: "ModuleType | None" = None) -> "ModuleSpec | None":
        """Attach to the store, and find a module in a directory as all later ones are found."""
        if self._ends_waiting():
            with SignalsHeld():
                self._attach()
        found: Any = sys.path_importer_cache.get(path) or FileFinder(path)
        spec: ModuleSpec | None = found.find_spec(name, target)
        return spec

    def _invalidate(self, finder: FileFinder) -> None:
        """Do without the store: it was filled before the program said that directories have changed."""
        self._ends_waiting()
        finder.invalidate_caches()

    def _ends_waiting(self) -> bool:
        """Take our methods away. Return whether they were there."""
        finders, self._waits = self._waits, []
        for finder in finders:
            for name in (FIND, INVALIDATE):
                finder.__dict__.pop(name, None)
        return bool(finders)

    def _attach(self) -> None:
        """Import from the store from now on, if a session vouches for it. Never raises."""
        try:
            options = from_environment()
            place = Place.find(options.store_places(), options.session)
            trusted = options.keep == SESSION or options.session
            if place is None or not trusted or settings_of(options) != self._settings or options.switch == "0":
                return
            with ClosedStreamsKept(), _CtypesOfOurs():
                attached = Attached.to(place, self._key)
                if attached is None:
                    return
                here = launch(options.rank_variables)
                if attached.doubt(True, here, time.monotonic_ns()):
                    attached.store.leave()
                    return
                rank = here.rank if here is not None else 0
                account = Account(set(sys.modules), rank, options.verbose)
                # What is imported again is imported as it is now.
                account.served.update(filter(None, map(file_of, [*sys.modules.values()])))
                attached.import_from(account, Answers())
        except Exception as exc:
            say(f"mpiimport: process {os.getpid()} goes on without its kept store: {exc!r}")


class _CtypesOfOurs:
    """While this context lasts, ``_ctypes`` may be imported, which is ours until the program imports it."""

    def __enter__(self) -> None:
        self._had = CTYPES in sys.modules

    def __exit__(self, *failure: object) -> None:
        if not self._had:
            sys.modules.pop(CTYPES, None)
