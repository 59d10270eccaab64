"""What imports cost: the phases IMPORTS and MAIN kept apart, and, from listed directories, the modules by cost.

Two looks at two clocks for each module, and no frame more in the stack of a Python module's body.
"""

from _thread import get_ident

from .. import time
from ..clock import IMPORTS, INIT, MAIN, phases
from ..importing.finder import StoreExtensionLoader, StoreLoader
from ..machinery import as_importlib, call_with_frames_removed, replace_find_and_load
from ..mpi.rc_settings import MPI_MODULE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, TypeAlias

    # Thread, imports around it, name, path; when it began, time on a core and wall with all that it imported (ns).
    Ended: TypeAlias = "tuple[int, int, str, str, int, int, int]"


class Cost:
    """What one module took, less what the modules that it imported took: ``own`` on a core, ``wall`` (ns)."""

    __slots__ = ("name", "own", "wall")

    def __init__(self, name: str) -> None:
        self.name = name
        self.own = self.wall = 0


class Costs:
    """``modules``: by the path of their file; ``ended``: each import as it ended, where they are kept one by one."""

    def __init__(self, one_by_one: bool) -> None:
        self.modules: dict[str, Cost] = {}
        self.ended: list[Ended] = []
        self._one_by_one = one_by_one
        self._importing: dict[int, list[list[int]]] = {}
        self._main_thread = get_ident()

    def begin(self, loader: StoreLoader) -> None:
        """An import begins, in the midst of the last one that has not ended in this thread."""
        thread = get_ident()
        outer = self._importing.setdefault(thread, [])
        if not outer and thread == self._main_thread and phases.current == MAIN:
            phases.begin(_phase_of(loader.name))
        outer.append([time.thread_time_ns(), time.perf_counter_ns(), 0, 0])

    def end(self, loader: StoreLoader) -> None:
        """The import that began last in this thread has ended, well or not."""
        thread = get_ident()
        own_since, wall_since, inner_own, inner_wall = self._importing[thread].pop()
        own, wall = time.thread_time_ns() - own_since, time.perf_counter_ns() - wall_since
        cost = self.modules.setdefault(loader.path, Cost(loader.name))
        cost.own += own - inner_own
        cost.wall += wall - inner_wall
        if self._one_by_one:
            self.ended.append((thread, len(self._importing[thread]), loader.name, loader.path, wall_since, own, wall))
        if self._importing[thread]:
            around = self._importing[thread][-1]
            around[2] += own
            around[3] += wall
        elif thread == self._main_thread and phases.current == _phase_of(loader.name):
            phases.begin(MAIN)


def _phase_of(name: str) -> str:
    """Return the phase of an outermost import: one of mpi4py's extension module starts MPI."""
    return INIT if name == MPI_MODULE else IMPORTS


def tell_imports() -> None:
    """Tell IMPORTS from MAIN where no store answers them. The outermost import has one frame more around it."""
    main = get_ident()

    @as_importlib
    def begin(name: str, importing: "Any") -> "Any":
        if get_ident() != main or phases.current != MAIN:
            return plain(name, importing)
        phases.begin(_phase_of(name))
        replace_find_and_load(plain)
        try:
            return plain(name, importing)
        finally:
            changed = replace_find_and_load(begin)
            if changed is not plain:
                # User code wins.
                replace_find_and_load(changed)
            phases.begin(MAIN)

    plain = replace_find_and_load(begin)


def measure_imports(one_by_one: bool) -> Costs:
    """Measure the imports of this process from here on; keep them ``one_by_one`` too, where that is wanted."""
    costs = Costs(one_by_one)

    @as_importlib
    def exec_module(self: "Any", module: "ModuleType") -> None:
        costs.begin(self)
        try:
            code = self.get_code(module.__name__)
            if code is None:
                super(StoreLoader, self).exec_module(module)
            else:
                # In the place of importlib's method and not around it: as deep, and as invisible in tracebacks.
                call_with_frames_removed(exec, code, module.__dict__)
        finally:
            costs.end(self)

    @as_importlib
    def create_extension(self: "Any", spec: "Any") -> "Any":
        costs.begin(self)
        try:
            return super(StoreLoader, self).create_module(spec)
        finally:
            costs.end(self)

    @as_importlib
    def exec_extension(self: "Any", module: "ModuleType") -> None:
        costs.begin(self)
        try:
            super(StoreLoader, self).exec_module(module)
        finally:
            costs.end(self)

    loader: Any = StoreLoader
    extension_loader: Any = StoreExtensionLoader
    loader.exec_module = exec_module
    extension_loader.create_module, extension_loader.exec_module = create_extension, exec_extension
    return costs
