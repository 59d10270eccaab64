"""The report of a run, where one is asked for: what every rank measures, and what root then writes."""

from .. import open, os, time
from ..clock import CLOCKS, PHASES, phases
from ..messages import say
from ..serving.imports import ANSWERED
from ..whole_file import replace_text
from .costs import measure_imports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..mpi.transport import Transport
    from ..serving.imports import Imports
    from .costs import Cost, Ended
    from .document import Value

# The file name that means: no file, but a table on standard error.
TABLE = "-"
# Whose figures a report holds: root's, until the program begins or to the end; or all ranks' to the end.
STARTUP, ROOT, ALL = "start-up", "root", "all"
REGULAR, KIND = 0o100000, 0o170000
WIDTH = len(PHASES) * len(CLOCKS) + len(ANSWERED)


class Report:
    """One report. ``facts``: its fields, by their names in the file; every rank may add to its own, and root's are
    written.
    """

    def __init__(self, path: str, rank: int) -> None:
        self.facts: dict[str, Value] = {}
        # Where the imports are from a kept store: at how many paths this process looked, to believe that.
        self.looked_at: int | None = None
        # The program may change the directory.
        self._path = path if path == TABLE else os.path.abspath(path)
        self._rank = rank
        self._pid = os.getpid()
        # Of what was imported before anything was measured.
        self._answered: Callable[[], dict[str, int]] = dict
        self._modules: dict[str, Cost] = {}
        self._ended: list[Ended] = []
        # The rows of all ranks and the largest costs, once, where they were gathered.
        self._gathered: list[tuple[Sequence[int], dict[str, int]]] = []
        self._whole = self._written = False

    def measure(self, imports: "Imports") -> None:
        """Measure ``imports``, those of this process, from here on."""
        self._answered = imports.answered
        # The file shows root's imports in their order; the others have no use for theirs.
        costs = measure_imports(one_by_one=self._rank == 0)
        self._modules, self._ended = costs.modules, costs.ended

    def measured(self, paths: list[str]) -> tuple[list[int], list[int]]:
        """Return what this process measured up to here, as many numbers on every rank, for ``gather``.

        ``paths``: those of ``Imports.paths``. Must not raise: the other ranks wait.
        """
        modules = self._modules
        return self._row(), [modules[path].own if path in modules else 0 for path in paths]

    def gather(self, transport: "Transport", paths: list[str], measured: tuple[list[int], list[int]]) -> None:
        """Bring what all ranks ``measured`` to root. Collective."""
        row, costs = measured
        rows = transport.table(row)
        _, largest = transport.extremes(costs)
        if rows is not None:
            self._gathered = [(rows, dict(zip(paths, largest, strict=True)))]

    def write_startup(self) -> None:
        """On root, write what is known before the program begins, in case that nothing comes after."""
        if self._rank == 0 and self._path != TABLE:
            self._fill(STARTUP, self._row(), {})
            self._write()

    def finish(self) -> None:
        """On root, at the end of the process, write what root knows of itself where no more was gathered."""
        if self._rank == 0 and not self._whole and os.getpid() == self._pid:
            self._fill(ROOT, self._row(), {})
            self._write()

    def write_gathered(self) -> None:
        """On root, write the figures of all ranks, where they were gathered."""
        for rows, largest in self._gathered:
            self._fill(ALL, rows, largest)
            self._write()

    def _write(self) -> None:
        """Write the facts. A failure is said in one line and has no other effect."""
        try:
            if self._path == TABLE:
                from .table import table

                say(table(self.facts))
                return
            from .document import as_json

            text = as_json(self.facts)
            if not (self._written and _replaced(self._path, text)):
                with open(self._path, "w", encoding="utf-8") as stream:
                    stream.write(text)
            self._written = True
        except (OSError, ValueError) as exc:
            say(f"mpiimport: the report cannot be written: {exc}")

    def _row(self) -> list[int]:
        """Return this process's phases and counts, WIDTH numbers."""
        # What is on goes on, but is counted up to here.
        phases.begin(phases.current)
        times = [phases.spent[phase][clock] for phase in PHASES for clock in range(len(CLOCKS))]
        counts = self._answered()
        return times + [counts.get(name, 0) for name in ANSWERED]

    def _fill(self, scope: str, rows: "Sequence[int]", largest: dict[str, int]) -> None:
        """Put the figures of some ranks, root first, into the facts: of each what ``_row`` returns."""
        from . import summary
        from .import_tree import imports

        self._whole = scope == ALL
        self.facts["scope"] = scope
        self.facts.update(summary.phases(rows, WIDTH))
        self.facts.update(summary.answered(ANSWERED, rows, WIDTH, self.looked_at))
        self.facts["modules"] = summary.modules(self._modules, largest)
        if self._ended:
            self.facts["imports"] = imports(self._ended, _birth())


def _birth() -> int:
    """Return when this process was born, by the clock of the imports."""
    phases.begin(phases.current)
    return time.perf_counter_ns() - sum(spent[0] for spent in phases.spent.values())


def _replaced(path: str, text: str) -> bool:
    """Replace a file, not a link or device, as a whole. Tell whether that was possible."""
    try:
        if os.lstat(path).st_mode & KIND != REGULAR:
            return False
        replace_text(path, text)
    except OSError:
        return False
    return True
