"""The report of a run, where one is asked for: what every rank measures, and what root then writes."""

import sys

from .. import open, os, time
from ..clock import CLOCKS, PHASES, phases
from ..importing.imports import ANSWERED
from ..messages import say
from ..payload.plain_start import PlainStart
from ..whole_file import replace_text
from .costs import measure_imports, tell_imports
from .tree_kind import tree_kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ..importing.account import Account
    from ..importing.imports import Imports
    from ..mpi.transport import Transport
    from ..options import Options
    from ..program import Program
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

    def __init__(self, options: "Options", program: "Program", rank: int, size: int | None) -> None:
        """``options``: say where it is written, whether a line is said, and whether it is a plain start to record."""
        self.facts: dict[str, Value] = {"program": program.label(), "python": sys.version.split()[0]}
        if size is not None:
            self.facts["ranks"] = size
        # Where the imports are from a cached store: at how many paths this process looked, to believe that.
        self.validated: int | None = None
        # The program may change the directory.
        self._path = options.report if options.report in ("", TABLE) else os.path.abspath(options.report)
        self._says, self._records = options.verbose, options.debug
        self._plain_start = PlainStart(program, options.manifests)
        # The modules that this process has imported: those from a store or snapshot, and all.
        self.count_imported: Callable[[], tuple[int, int]] | None = None
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
        self.count_imported = lambda: _imported(imports.account)
        # The file shows root's imports in their order; the others have no use for theirs.
        costs = measure_imports(one_by_one=self._rank == 0)
        self._modules, self._ended = costs.modules, costs.ended

    def bypass(self, reason: str) -> None:
        """Nothing answers the imports of this process, for this ``reason``."""
        self.facts["bypassed"] = reason
        tell_imports()

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
        if self._rank == 0 and self._path not in ("", TABLE):
            self._fill(STARTUP, self._row(), {})
            self._write()

    def finish(self) -> None:
        """On root, at the end of the process, write what root knows of itself where no more was gathered."""
        if self._rank == 0 and not self._whole and os.getpid() == self._pid:
            try:
                self._fill(ROOT, self._row(), {})
                self._finish()
            except Exception as exc:
                # The program has left nothing by which modules are found, or has changed what is used here.
                say(f"mpiimport: nothing is measured of this start: {exc!r}")

    def write_gathered(self) -> None:
        """On root, write the figures of all ranks, where they were gathered."""
        for rows, largest in self._gathered:
            self._fill(ALL, rows, largest)
            self._finish()

    def _finish(self) -> None:
        """Write the facts, compared with a plain start that was recorded, or record this one; say what the job got."""
        self.facts["tree"] = tree_kind()
        if self._records:
            self._record()
        elif plainly := self._plain_start.read():
            self.facts["plain_start"] = plainly
        self._write()
        if self._says and self._path != TABLE:
            from .outcome import outcome_of

            say(f"mpiimport: {outcome_of(self.facts).line()}")

    def _record(self) -> None:
        from .outcome import imports_of, size_of

        facts: dict[str, Any] = self.facts
        start, imports = facts["start"], imports_of(facts) or 0.0
        if self._plain_start.write(size_of(facts), start, imports):
            said = f"{start:.1f} s to its own code, {imports:.1f} s of them in imports; {self._plain_start.place}"
        else:
            said = "nothing: its manifests are not kept (MPIIMPORT_MANIFESTS), or it has no name"
        say(f"mpiimport: recorded of {self.facts['program'] or 'the program'}, started plainly: {said}")

    def _write(self) -> None:
        """Write the facts. A failure is said in one line and has no other effect."""
        try:
            if not self._path:
                return
            if self._path == TABLE:
                from .table import table

                say(table(self.facts))
                return
            from .document import as_json

            text = as_json(self.facts)
            if not (self._written and _replaced(self._path, text)):
                # Nothing is waited for, if somebody has put a pipe there.
                flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK
                with open(os.open(self._path, flags, 0o666), "w", encoding="utf-8") as stream:
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
        self.facts["start"] = summary.start(rows, WIDTH)
        if self.count_imported is not None:
            provided, imported = self.count_imported()
            self.facts["modules_imported"] = {"provided": provided, "all": imported}
        self.facts.update(summary.phases(rows, WIDTH))
        self.facts.update(summary.answered(ANSWERED, rows, WIDTH, self.validated))
        self.facts["modules"] = summary.modules(self._modules, largest)
        if self._ended:
            self.facts["imports"] = imports(self._ended, _birth())


def _imported(account: "Account") -> tuple[int, int]:
    """Return how many modules this process has imported from the store, and in all."""
    try:
        served, missed = account.used()
    except Exception:
        # The program may have left anything in sys.modules.
        return 0, 0
    return len(served), len(served) + len(missed)


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
