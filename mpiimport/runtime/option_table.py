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
    """One option: ``metavar`` None marks a switch; a ``default`` that is a tuple is written as a colon list.

    ``choices``: the values it takes; empty where it takes any of its kind; ``flag``: of the command line, None where
    only the environment sets it.
    """

    def __init__(
        self,
        name: str,
        metavar: str | None,
        default: object,
        meaning: str,
        choices: tuple[str, ...] = (),
        flag: str | None = None,
    ) -> None:
        self.name = name
        self.metavar = metavar
        self.default = default
        self.kind = type(default)
        self.meaning = meaning
        self.choices = choices
        self.flag = flag

    @property
    def variable(self) -> str:
        return VARIABLE_PREFIX + self.name.upper()


OPTIONS = (
    Option(
        "verbose",
        None,
        False,
        "print on every rank how it imported each module, and at the end how the job started",
        flag="-v",
    ),
    Option("debug", None, False, "import everything locally, with no communication", flag="-d"),
    Option(
        "profile",
        "PROFILE",
        "",
        "apply this site profile; the variable also names the profile of container starts",
        flag="-I",
    ),
    Option("store", "DIR", "", "put the store into DIR (default: /dev/shm, then $TMPDIR, then /tmp)", flag="-T"),
    Option(
        "store_size",
        "SIZE",
        STORE_SIZE,
        "the maximum size of the store: a size such as 4GiB, or a percentage of the free room of its file system. In "
        "memory, this room is at most what the job's limit leaves. mpiimport always leaves 64 MiB of /dev/shm to MPI",
    ),
    Option(
        "cache",
        "WHEN",
        NEVER,
        "keep a store on this node, from which later processes of the program import without MPI: not at all "
        "(`never`), a store that the first process fills in the background (`auto`), or the store that `mpiimport "
        "session start` has filled, on any number of nodes, which counts as valid until the session ends (`session`)",
        choices=(NEVER, AUTO, SESSION),
    ),
    Option(
        "cache_on",
        "TYPES",
        (),
        "more types of file systems, as mount(8) names them, whose files mpiimport may keep; separated by colons. "
        "There, every change of a file must also change the times of its inode",
    ),
    Option(
        "session",
        "NAME",
        "",
        "the session of this process, which `mpiimport run --session` sets; each session has separate stores",
    ),
    Option(
        "snapshot",
        None,
        True,
        "start the program from the snapshot that `mpiimport prepare` has made of it, where there is one",
    ),
    Option(
        "snapshots",
        "DIR",
        "",
        "the library of prepared snapshots, which nodes share (default: $XDG_CACHE_HOME/mpiimport/snapshots)",
    ),
    Option(
        "prepare",
        "WHEN",
        RENEW,
        "while a job runs, make the snapshot of its program for later jobs: if the prepared snapshot no longer fits "
        "(`renew`), also if there is none (`auto`), or never (`never`)",
        choices=(RENEW, AUTO, NEVER),
    ),
    Option(
        "snapshot_hash_seeds",
        "WHOSE",
        KEPT,
        "which seeds the hash tables of libraries have: those of the snapshot (`kept`), or new ones in each process "
        "(`fresh`). Seeds determine the order of entries. With `fresh`, no snapshot contains a module that has drawn "
        "a seed",
        choices=(KEPT, FRESH),
    ),
    Option(
        "fill",
        None,
        False,
        "fill the cached store of the program now and do not run the program, as `mpiimport session start` does",
    ),
    Option(
        "serve",
        "WHAT",
        ALL,
        "what ranks take from the store: what they import (`all`), or listings of directories alone (`listings`), with "
        "which they find modules without a search and read each file themselves",
        choices=(ALL, LISTINGS),
    ),
    Option(
        "libraries",
        "WAY",
        AUTO,
        "where ranks load shared libraries from: a copy in the store (`stage`), the original path (`direct`), or a "
        "copy unless one node reads its own file system (`auto`)",
        choices=(AUTO, STAGE, DIRECT),
    ),
    Option(
        "direct",
        "NAMES",
        (),
        "libraries that ranks always load from the original path: names of files, or of directories with all files "
        "below, with * at the end for any rest; separated by colons",
    ),
    Option(
        "report",
        "FILE",
        "",
        "write to FILE, as JSON, how the job spent its time. If FILE is `-`, print a table on standard error at the "
        "job's end",
        flag="--report",
    ),
    Option(
        "manifests",
        "DIR",
        "",
        "keep in DIR what programs imported, for their next runs "
        "(default: $XDG_CACHE_HOME/mpiimport/manifests); - keeps nothing",
    ),
    Option("record", "DIR", "", "serve nothing, but record what is imported in DIR, as `mpiimport bake` does"),
    Option("deadline", "SECONDS", 300, "abort the job when the start-up takes longer"),
    Option("readers", "N", 16, "threads with which root reads a tree that it waits for"),
    Option(
        "breadth",
        "BREADTH",
        AUTO,
        "what root reads before mpiimport has learned a manifest: all modules that the program's imports lead to "
        "(`closure`), or every package that they reach, without tests (`package`). `auto` reads as much of the closure "
        "as saves time on the job's number of nodes",
        choices=(AUTO, CLOSURE, PACKAGE),
    ),
    Option(
        "leave_alone",
        "NAMES",
        (),
        "modules, and packages with all their modules, that Python imports without mpiimport; separated by colons",
    ),
    Option(
        "preload",
        "LIBRARIES",
        (),
        "libraries whose symbols every later library sees, before MPI starts: a path is loaded before mpi4py, a file "
        "name means the copy that mpi4py loaded; separated by colons",
    ),
    Option(
        "binding",
        "TIME",
        "",
        "look the functions of extension modules up at once (`now`), as Python does, or at their first call (`lazy`)",
        choices=(NOW, LAZY),
    ),
    Option(
        "rank_variables",
        "NAMES",
        "",
        "the variables in which an unknown launcher stores rank, number of ranks and ranks on the node; separated by "
        "colons",
    ),
    Option(
        "thread_level",
        "LEVEL",
        AUTO,
        "MPI thread level to start with: `auto` is the level that `MPI4PY_RC_*` or the script ask for, and `multiple` "
        "if they name none",
        choices=(AUTO, *THREAD_LEVELS),
    ),
    Option(
        "init",
        "POLICY",
        WORLD,
        "how MPI is started: `world` (MPI_Init, which the program then takes over), `off` (not at all: plain Python)",
        choices=(WORLD, OFF),
    ),
)
