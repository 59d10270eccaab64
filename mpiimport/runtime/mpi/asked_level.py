"""The thread level that a program will ask MPI for: MPI is started before the program, and with no other level.

mpi4py's variables say so, the options of ``python -m mpi4py``, and a script that sets ``mpi4py.rc``, or calls MPI_Init
itself. The script is read as far as that follows from its own text, its arguments and the environment. Where more is
needed, the highest level counts that it may ask for. A hint that is too high changes nothing that a program sees.
"""

from .. import os
from ..option_table import THREAD_LEVELS
from ..program import MODULE, SCRIPT
from ..regular_file import read_regular
from ..syntax_tree import parse
from .script_reading import RC_VARIABLE, Reading, level_order

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..program import Program

RUNNERS = ("mpi4py", "mpi4py.run", "mpi4py.__main__")
# Without these words a script leaves mpi4py its defaults.
TELLING = (b"thread", b"initialize", RC_VARIABLE.encode(), b".Init")


def asked_level(program: "Program") -> str:
    """Return the thread level that MPI is to be started with; MPI_INIT for what MPI_Init gives. Never raises."""
    try:
        settings, text, words = _script(program)
        reading = Reading(settings, words)
        if b"mpi4py" in text and any(word in text for word in TELLING):
            reading.follow(parse(text))
        return max(reading.levels(), key=level_order)
    except Exception:
        # A rank without an answer must not keep the others waiting.
        return THREAD_LEVELS[-1]


def _script(program: "Program") -> "tuple[dict[str, object], bytes, list[str]]":
    """Return what a command line sets of ``mpi4py.rc``, the text that it leads to, and what ``sys.argv`` is there."""
    if program.kind != MODULE:
        return {}, program.text() or _own_file(program), program.words()
    settings: dict[str, object] = {}
    if program.target in RUNNERS:
        settings, rest = _options_of_runner(program.arguments)
        program = type(program).parse(rest)
        if program.kind != MODULE:
            text = _read(program.target) if program.kind == SCRIPT else program.text()
            return settings, text, program.words()
    elif program.target.startswith("mpi4py."):
        # It starts MPI before its script could say anything.
        return settings, b"", []
    text, words = _own_file(program), [program.target, *program.arguments]
    if not text:
        # A debugger, a profiler or the like, which runs a script.
        place = next((place for place, word in enumerate(words) if word.endswith(".py")), len(words))
        words = words[place:]
        text = _read(words[0]) if words else b""
    return settings, text, words


def _own_file(program: "Program") -> bytes:
    """Return the text of a module in the current directory, or of a directory that is a program; else nothing."""
    if program.kind != MODULE:
        return _read(os.path.join(program.target, "__main__.py")) if program.kind == SCRIPT else b""
    path = os.path.join(program.search_entry() or ".", *program.target.split("."))
    return _read(path + ".py") or _read(os.path.join(path, "__main__.py"))


def _read(path: str) -> bytes:
    """Return what a file holds; nothing where there is none, or something else."""
    try:
        return read_regular(path)
    except OSError:
        return b""


def _options_of_runner(words: list[str]) -> "tuple[dict[str, object], list[str]]":
    """Split the command line of ``python -m mpi4py`` into what it sets and the program."""
    settings: dict[str, object] = {}
    rest = list(words)
    while rest and rest[0].startswith("-") and rest[0] not in ("-m", "-c", "-"):
        word = rest.pop(0)
        _, equals, value = word.partition("=")
        for entry in (value if equals else rest.pop(0)).split(","):
            name, _, said = entry.partition("=")
            settings[name] = {"True": True, "False": False, "1": True, "0": False}.get(said, said.strip("'\""))
    return settings, rest
