"""The one table of options: command-line flags, environment variables and their documentation come from it.

``MPIIMPORT`` itself is the switch (``1``, ``0`` or ``force``); every option is also read from
``MPIIMPORT_<NAME>``, and a flag beats the variable.
"""

from . import os
from .broadcast_tree import MPI_OWN, Algorithm
from .size import Size, is_count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

WORLD, SESSION, OFF = "world", "session", "off"
CLOSURE, PACKAGE = "closure", "package"
NOW, LAZY = "now", "lazy"
AUTO, STAGE, DIRECT = "auto", "stage", "direct"
THREAD_LEVELS = ("single", "funneled", "serialized", "multiple")
STORE_SIZE = Size.parse("50%")
# Of the kinds whose values are more than words.
PARSERS: "dict[type, Callable[[str], object]]" = {Size: Size.parse, Algorithm: Algorithm.parse}


class Option:
    """One option: ``flag`` is None where only the environment sets it; ``metavar`` None marks a switch.

    ``kind``: of its value; a tuple is written as a colon list.

    ``choices``: the values it takes; empty where it takes any of its kind.
    """

    __slots__ = ("choices", "default", "flag", "kind", "meaning", "metavar", "name")

    def __init__(
        self,
        name: str,
        flag: str | None,
        metavar: str | None,
        kind: type,
        default: object,
        meaning: str,
        choices: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self.flag = flag
        self.metavar = metavar
        self.kind = kind
        self.default = default
        self.meaning = meaning
        self.choices = choices

    @property
    def variable(self) -> str:
        return "MPIIMPORT_" + self.name.upper()


OPTIONS = (
    Option("verbose", "-v", None, bool, False, "say on every rank how each module was imported"),
    Option("debug", "-d", None, bool, False, "import everything locally, with no communication"),
    Option(
        "profile",
        "-I",
        "PROFILE",
        str,
        "",
        "apply a site profile; the variable names that of container starts",
    ),
    Option("store", "-T", "DIR", str, "", "put the store into DIR (default: /dev/shm, then $TMPDIR, then /tmp)"),
    Option(
        "store_size",
        None,
        "SIZE",
        Size,
        STORE_SIZE,
        "the most that the store may take: a size such as 4GiB, or a share of what its file system has free and, in "
        "memory, the job's limit leaves; of /dev/shm 64 MiB are always left to MPI",
    ),
    Option(
        "libraries",
        None,
        "WAY",
        str,
        AUTO,
        "where ranks load shared libraries from: a copy in the store (`stage`), where they lie (`direct`), or a copy "
        "unless one node reads its own file system (`auto`)",
        (AUTO, STAGE, DIRECT),
    ),
    Option(
        "direct",
        None,
        "NAMES",
        tuple,
        (),
        "libraries that are loaded from where they lie in any case: names of files, or of directories with all below "
        "them, a * at the end for any rest; between colons",
    ),
    Option(
        "report",
        "--report",
        "FILE",
        str,
        "",
        "write to FILE, as JSON, what the job spent its time on; - shows a table on standard error at its end",
    ),
    Option(
        "manifests",
        None,
        "DIR",
        str,
        "",
        "keep in DIR what programs imported, for their next runs "
        "(default: $XDG_CACHE_HOME/mpiimport/manifests); - keeps nothing",
    ),
    Option(
        "record", None, "DIR", str, "", "serve nothing, but record what is imported in DIR, as `mpiimport bake` does"
    ),
    Option("deadline", None, "SECONDS", int, 300, "abort the job when the start-up takes longer"),
    Option("readers", None, "N", int, 16, "threads with which root reads a tree that it waits for"),
    Option(
        "broadcast",
        None,
        "ALGORITHM",
        Algorithm,
        MPI_OWN,
        "how the snapshot gets to the nodes: `mpi` (MPI's own broadcast), or `tree:FANOUT` (each node passes it on to "
        "so many others); `mpiimport bench bcast` compares them",
    ),
    Option(
        "breadth",
        None,
        "BREADTH",
        str,
        AUTO,
        "what is read before anything is learned: `closure` (what the program's imports lead to), `package` (the "
        "packages they reach as a whole, tests left out), or as much of the closure as pays on so many nodes (`auto`)",
        (AUTO, CLOSURE, PACKAGE),
    ),
    Option(
        "leave_alone",
        None,
        "NAMES",
        tuple,
        (),
        "modules, and packages with all in them, that are imported the ordinary way; between colons",
    ),
    Option(
        "preload",
        None,
        "LIBRARIES",
        tuple,
        (),
        "libraries whose symbols every later one sees, before MPI starts: a path is loaded before mpi4py, a file name "
        "means the copy that mpi4py loaded; between colons",
    ),
    Option(
        "binding",
        None,
        "TIME",
        str,
        "",
        "look the functions of extension modules up at once (`now`), as Python does, or at their first call (`lazy`)",
        (NOW, LAZY),
    ),
    Option(
        "rank_variables",
        None,
        "NAMES",
        str,
        "",
        "the variables by which an unknown launcher tells rank, number of ranks and ranks on the node; between colons",
    ),
    Option("thread_level", None, "LEVEL", str, "multiple", "MPI thread level to start with", THREAD_LEVELS),
    Option(
        "init",
        None,
        "POLICY",
        str,
        WORLD,
        "how MPI is started: `world` (MPI_Init, which the program then takes over), `session` (an MPI session that is "
        "over before the program begins; MPICH 5), `off` (not at all: plain Python)",
        (WORLD, SESSION, OFF),
    ),
)


class OptionError(ValueError):
    """A flag with a value that its option does not take, or that nobody knows."""


class VariableError(OptionError):
    """A variable with such a value. It may be there for other jobs, so it is no reason for this one to fail."""


class Options:
    """The values in force, one attribute per option, and the ``switch``: ``0``, ``1`` or ``force``."""

    verbose: bool
    debug: bool
    profile: str
    store: str
    store_size: Size
    libraries: str
    direct: tuple[str, ...]
    report: str
    manifests: str
    record: str
    deadline: int
    readers: int
    broadcast: Algorithm
    breadth: str
    leave_alone: tuple[str, ...]
    preload: tuple[str, ...]
    binding: str
    rank_variables: str
    thread_level: str
    init: str

    def __init__(self, switch: str, values: dict[str, object]) -> None:
        self.switch = switch
        self.__dict__.update(values)

    def store_places(self) -> list[str]:
        """Return the directories in which a store may be made, in the order in which they are tried.

        Absolute, for the program may go elsewhere. Raises OSError where that cannot be said.
        """
        places = [self.store] if self.store else ["/dev/shm", os.environ.get("TMPDIR") or "/tmp", "/tmp"]
        return list(dict.fromkeys(map(os.path.abspath, places)))


def from_environment(flags: dict[str, str] | None = None) -> Options:
    """Read the environment; ``flags`` maps option names to values that beat it.

    Raises OptionError naming the flag, and VariableError naming the variable.
    """
    values = {}
    for option in OPTIONS:
        text = os.environ.get(option.variable, "")
        if flags and option.name in flags:
            values[option.name] = _value(option, flags[option.name], str(option.flag))
        elif text:
            try:
                values[option.name] = _value(option, text, option.variable)
            except OptionError as exc:
                raise VariableError(str(exc)) from None
        else:
            values[option.name] = option.default
    return Options(os.environ.get("MPIIMPORT", ""), values)


def switched_off() -> Options:
    """Return the options of a process that is to run as plain Python."""
    return Options("0", {option.name: option.default for option in OPTIONS})


def split_flags(arguments: list[str]) -> tuple[dict[str, str], list[str]]:
    """Split a command line into our flags and the program with its arguments.

    The program starts at the first word that is not ours: ``-m``, ``-c``, ``-`` or a script.
    Raises OptionError for a flag we do not know or one without its value.
    """
    flags: dict[str, str] = {}
    rest = list(arguments)
    by_flag = {option.flag: option for option in OPTIONS if option.flag}
    while rest and rest[0].startswith("-") and rest[0] not in ("-", "-m", "-c") and rest[0][:2] not in ("-m", "-c"):
        word = rest.pop(0)
        name, equals, value = word.partition("=") if word.startswith("--") else (word[:2], word[2:], word[2:])
        option = by_flag.get(name)
        if option is None:
            raise OptionError(f"unknown option {word}; known are {', '.join(sorted(map(str, by_flag)))}")
        if option.metavar is None:
            if value:
                rest.insert(0, "-" + value)
            value = "1"
        elif not equals:
            if not rest:
                raise OptionError(f"option {name} needs a value: {name} {option.metavar}")
            value = rest.pop(0)
        flags[option.name] = value
    return flags, rest


def _value(option: Option, text: str, said: str) -> object:
    if option.kind is bool:
        return text != "0"
    if option.kind is int:
        if not is_count(text):
            raise OptionError(f"{said} takes a number above 0, not {text!r}")
        return int(text)
    if option.kind is tuple:
        return tuple(word for word in text.split(":") if word)
    if option.kind in PARSERS:
        try:
            return PARSERS[option.kind](text)
        except ValueError as exc:
            raise OptionError(f"{said} takes {exc}, not {text!r}") from None
    if option.choices and text not in option.choices:
        raise OptionError(f"{said} is one of {', '.join(option.choices)}, not {text!r}")
    return text
