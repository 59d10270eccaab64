"""The values of options in force, from the environment and the command line. A flag beats its variable."""

from . import os
from .option_table import OPTIONS, VARIABLE_PREFIX, Option
from .size import Size, is_count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# Values of MPIIMPORT.
SWITCHES = "0", "1", "force"
# Of the kinds whose values are more than words.
PARSERS: "dict[type, Callable[[str], object]]" = {Size: Size.parse}

# Values of MPIIMPORT_FILL: the snapshot is to be made; it is made beside a job; it is made of workers, whose launcher
# runs; it is made of each program, and all of them run. Each begins with the first.
FILL_SNAPSHOT, FILL_BESIDE = "snapshot", "snapshot beside a job"
FILL_WORKER, FILL_RUNNING = "snapshot of a worker", "snapshot of what runs"
# What `mpiimport session status` and `refresh` have in MPIIMPORT_FILL; `session start` has the time when it began.
VALIDATE = "validate"


# Below the user's cache: the library of prepared snapshots.
SNAPSHOTS = "snapshots"


def user_cache(home: str) -> str:
    """Return mpiimport's directory for caches of a user with this home (XDG Base Directory Specification).

    Empty where there is none.
    """
    cache = os.environ.get("XDG_CACHE_HOME", "")
    if not cache.startswith("/"):
        cache = os.path.join(home, ".cache") if home.startswith("/") else ""
    return os.path.join(cache, "mpiimport") if cache else ""


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
    cache: str
    cache_on: tuple[str, ...]
    session: str
    snapshot: bool
    snapshots: str
    prepare: str
    snapshot_hash_seeds: str
    fill: bool
    serve: str
    libraries: str
    direct: tuple[str, ...]
    report: str
    manifests: str
    record: str
    deadline: int
    readers: int
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
    switch = os.environ.get("MPIIMPORT", "")
    if switch not in ("", *SWITCHES):
        raise VariableError(f"MPIIMPORT is one of {', '.join(SWITCHES)}, not {switch!r}")
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
    return Options(switch, values)


def unknown_variables() -> list[str]:
    """Return the variables that look like options and are none."""
    known = {option.variable for option in OPTIONS}
    return sorted(name for name in os.environ if name.startswith(VARIABLE_PREFIX) and name not in known)


def is_filling() -> bool:
    """Tell whether this process is to fill a cached store, and not to run its program, whatever its options are."""
    return os.environ.get("MPIIMPORT_FILL", "0") not in ("", "0") and os.environ.get("MPIIMPORT") != "0"


def is_validating() -> bool:
    """Tell whether a process that is asked to fill is only to validate what is in the cache."""
    return os.environ.get("MPIIMPORT_FILL") == VALIDATE


def makes_snapshot() -> bool:
    """Tell whether a process that is asked to fill is to make the snapshot of its program, and no store."""
    return os.environ.get("MPIIMPORT_FILL", "").startswith(FILL_SNAPSHOT)


def asked_at() -> int:
    """Return when somebody began a session that has this process fill (ns since the epoch); 0 where nobody says it."""
    text = os.environ.get("MPIIMPORT_FILL", "")
    return int(text) if text.isdecimal() and int(text) > 1 else 0


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
