"""What the making of an image leaves to the processes that start from it."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any


class Start:
    """``words``: the command line of plain Python; ``own``: how many of them are the interpreter's.

    ``freeze``: the extension module; ``python_changes``, ``c_changes``: variables that imports have set (None:
    removed), as Python and C saw them; ``generators``: random generators of modules that take their seed from the
    system; ``settled``: those of ``UNLESS_SET`` that the program has set, with the state of Python's generator, which a
    fork seeds anew; ``objects``: of the classes in package_reinitialisers;
    ``fork_handlers``: those that modules have registered;
    ``signals``: those for which imports have said what is done; ``lines``: streams for which imports have said whether
    they are written out at the end of a line; ``numbers``: of the processes in which the imports ran; ``directory``:
    theirs; ``importing``: what the program's imports call; ``reporting``: what tells of this start where that is asked
    for; ``reinitialiser``: what to do about a snapshot that does not fit, for the end of a line.
    """

    def __init__(self, freeze: "ModuleType", own: int) -> None:
        self.freeze: Any = freeze
        self.own = own
        self.words: list[bytes] = []
        self.python_changes: dict[bytes, bytes | None] = {}
        self.c_changes: dict[bytes, bytes | None] = {}
        self.generators: list[Any] = []
        self.settled: dict[str, Any] = {}
        self.objects: dict[str, list[Any]] = {}
        self.fork_handlers: Any = None
        self.lines: dict[str, bool] = {}
        self.signals: set[int] = set()
        self.numbers: set[int] = set()
        self.directory = ""
        self.reinitialiser = ""
        self.importing: Any = None
        self.reporting: Any = None
