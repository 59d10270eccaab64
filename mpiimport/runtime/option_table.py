"""The one table of options: command-line flags, environment variables and their documentation come from it.

``MPIIMPORT`` itself is the switch (``1``, ``0`` or ``force``); every option is also read from
``MPIIMPORT_<NAME>``, and a flag beats the variable.
"""

from .size import Size

WORLD, SESSION, OFF = "world", "session", "off"
CLOSURE, PACKAGE = "closure", "package"
NOW, LAZY = "now", "lazy"
AUTO, STAGE, DIRECT = "auto", "stage", "direct"
ALL, LISTINGS = "all", "listings"
NEVER = "never"
KEPT, FRESH = "kept", "fresh"
RENEW = "renew"
THREAD_LEVELS = ("single", "funneled", "serialized", "multiple")
# In the place of a level: what MPI_Init, which is asked for none, gives.
MPI_INIT = "MPI_Init"
STORE_SIZE = Size.parse("50%")
VARIABLE_PREFIX = "MPIIMPORT_"


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
        return VARIABLE_PREFIX + self.name.upper()


OPTIONS = (
    Option(
        "verbose",
        "-v",
        None,
        bool,
        False,
        "print on every rank how it imported each module, and at the end how the job started",
    ),
    Option("debug", "-d", None, bool, False, "import everything locally, with no communication"),
    Option(
        "profile",
        "-I",
        "PROFILE",
        str,
        "",
        "apply this site profile; the variable also names the profile of container starts",
    ),
    Option("store", "-T", "DIR", str, "", "put the store into DIR (default: /dev/shm, then $TMPDIR, then /tmp)"),
    Option(
        "store_size",
        None,
        "SIZE",
        Size,
        STORE_SIZE,
        "the maximum size of the store: a size such as 4GiB, or a percentage of the free room of its file system. In "
        "memory, this room is at most what the job's limit leaves. mpiimport always leaves 64 MiB of /dev/shm to MPI",
    ),
    Option(
        "cache",
        None,
        "WHEN",
        str,
        NEVER,
        "keep a store on this node, from which later processes of the program import without MPI: not at all "
        "(`never`), a store that the first process fills in the background (`auto`), or the store that `mpiimport "
        "session start` has filled, on any number of nodes, which counts as valid until the session ends (`session`)",
        (NEVER, AUTO, SESSION),
    ),
    Option(
        "cache_on",
        None,
        "TYPES",
        tuple,
        (),
        "more types of file systems, as mount(8) names them, whose files mpiimport may keep; separated by colons. "
        "There, every change of a file must also change the times of its inode",
    ),
    Option(
        "session",
        None,
        "NAME",
        str,
        "",
        "the session of this process, which `mpiimport run --session` sets; each session has separate stores",
    ),
    Option(
        "snapshot",
        None,
        None,
        bool,
        True,
        "start the program from the snapshot that `mpiimport prepare` has made of it, where there is one",
    ),
    Option(
        "snapshots",
        None,
        "DIR",
        str,
        "",
        "the library of prepared snapshots, which nodes share (default: $XDG_CACHE_HOME/mpiimport/snapshots)",
    ),
    Option(
        "prepare",
        None,
        "WHEN",
        str,
        RENEW,
        "while a job runs, make the snapshot of its program for later jobs: if the prepared snapshot no longer fits "
        "(`renew`), also if there is none (`auto`), or never (`never`)",
        (RENEW, AUTO, NEVER),
    ),
    Option(
        "snapshot_hash_seeds",
        None,
        "WHOSE",
        str,
        KEPT,
        "which seeds the hash tables of libraries have: those of the snapshot (`kept`), or new ones in each process "
        "(`fresh`). Seeds determine the order of entries. With `fresh`, no snapshot contains a module that has drawn "
        "a seed",
        (KEPT, FRESH),
    ),
    Option(
        "fill",
        None,
        None,
        bool,
        False,
        "fill the cached store of the program now and do not run the program, as `mpiimport session start` does",
    ),
    Option(
        "serve",
        None,
        "WHAT",
        str,
        ALL,
        "what ranks take from the store: what they import (`all`), or listings of directories alone (`listings`), with "
        "which they find modules without a search and read each file themselves",
        (ALL, LISTINGS),
    ),
    Option(
        "libraries",
        None,
        "WAY",
        str,
        AUTO,
        "where ranks load shared libraries from: a copy in the store (`stage`), the original path (`direct`), or a "
        "copy unless one node reads its own file system (`auto`)",
        (AUTO, STAGE, DIRECT),
    ),
    Option(
        "direct",
        None,
        "NAMES",
        tuple,
        (),
        "libraries that ranks always load from the original path: names of files, or of directories with all files "
        "below, with * at the end for any rest; separated by colons",
    ),
    Option(
        "report",
        "--report",
        "FILE",
        str,
        "",
        "write to FILE, as JSON, how the job spent its time. If FILE is `-`, print a table on standard error at the "
        "job's end",
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
        "breadth",
        None,
        "BREADTH",
        str,
        AUTO,
        "what root reads before mpiimport has learned a manifest: all modules that the program's imports lead to "
        "(`closure`), or every package that they reach, without tests (`package`). `auto` reads as much of the closure "
        "as saves time on the job's number of nodes",
        (AUTO, CLOSURE, PACKAGE),
    ),
    Option(
        "leave_alone",
        None,
        "NAMES",
        tuple,
        (),
        "modules, and packages with all their modules, that Python imports without mpiimport; separated by colons",
    ),
    Option(
        "preload",
        None,
        "LIBRARIES",
        tuple,
        (),
        "libraries whose symbols every later library sees, before MPI starts: a path is loaded before mpi4py, a file "
        "name means the copy that mpi4py loaded; separated by colons",
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
        "the variables in which an unknown launcher stores rank, number of ranks and ranks on the node; separated by "
        "colons",
    ),
    Option(
        "thread_level",
        None,
        "LEVEL",
        str,
        AUTO,
        "MPI thread level to start with: `auto` is the level that `MPI4PY_RC_*` or the script ask for, and `multiple` "
        "if they name none",
        (AUTO, *THREAD_LEVELS),
    ),
    Option(
        "init",
        None,
        "POLICY",
        str,
        WORLD,
        "how MPI is started: `world` (MPI_Init, which the program then takes over), `off` (not at all: plain Python)",
        (WORLD, OFF),
    ),
)
