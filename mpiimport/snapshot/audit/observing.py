"""Executes a program's begin below the recorder, to see what it asks for: ``python [options] -S observing.py PLAN``.

PLAN is a file that marshal reads: ``begin``: what Begin takes, or nothing; ``seconds``: that a statement may take, or
0; ``own``: directories of own code; ``watches_path``: it is noted who looks at the search path; ``behind``: the first
statement behind an import of mpi4py that waits, or None; ``freeze``: the extension module; ``output``: gets what
marshal writes, see ``observe``.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .observer import Observer

PACKAGES = __file__.rsplit("/", 4)[0]


def execute(begin: "Any", observer: "Observer", seconds: int) -> "tuple[int, str] | None":
    """Execute its statements; return at which one it failed, and why, or None."""
    import _signal  # type: ignore[import-not-found]

    def set_timer(left: int) -> None:
        if seconds:
            observer.executing("mpiimport", lambda: _signal.setitimer(_signal.ITIMER_REAL, left))

    for number, is_import, step in begin.steps():
        set_timer(0 if is_import else seconds)
        failure = observer.execute(number, step, not is_import)
        if failure:
            return number, f"it raises {failure}"
        if observer not in sys.meta_path:
            return number, "it takes finders away from sys.meta_path"
    set_timer(0)
    return None


def call_hooks(observer: "Observer") -> "tuple[list[tuple[str, str]], Callable[[], None]]":
    """Call functions for before a snapshot. Return what is renewed, and what calls functions for after it."""
    hooks: Any = sys.modules.get("mpiimport.snapshot.hooks")
    if hooks is None:
        return [], lambda: None
    for function in reversed(hooks._before):
        observer.executing(function.__module__, function)

    def call() -> None:
        for function in hooks._after:
            observer.executing("register_after_restore of " + function.__module__, function)

    return sorted(hooks._renewed), call


def run_site(observer: "Observer", name: str) -> None:
    """Do what the option -S has left to do: see the module site. The observer is the first finder again."""

    def run() -> None:
        import site

        site.main()

    observer.executing(name, run)
    sys.meta_path.remove(observer)
    sys.meta_path.insert(0, observer)


def source_of(name: str) -> str:
    """Return the file with the source of a module; nothing of one without."""
    try:
        origin = object.__getattribute__(sys.modules.get(name), "__spec__").origin
    except AttributeError:
        return ""
    return origin if isinstance(origin, str) and origin.endswith(".py") else ""


def import_of_mpi(observer: "Observer", name: str) -> "tuple[object, ...]":
    """Return what decides how a package is imported: where it is found, what imports it, how libraries are loaded."""
    import builtins

    found: Any = sys.modules.get(name)
    finders = [finder for finder in sys.meta_path if finder is not observer]
    try:
        found = found or next(filter(None, (finder.find_spec(name, None) for finder in finders)), None)
    except Exception as exc:
        found = type(exc)
    return getattr(found, "origin", found), builtins.__import__, sys.getdlopenflags()


def observe() -> None:
    """Execute the begin, and write what was seen: ``failure``: (statement, why), None; ``begun``: module -> statement;
    ``of_site``, ``there``: modules; ``reads``: (module, what, statement); ``wants_mpi``: module -> statement;
    ``bound``: whether the process was bound to processors; ``renewed``, ``entries``, ``relative``, ``looked_for``;
    ``sources``: module -> its file.
    """
    import marshal
    import posix

    before = set(sys.modules)
    sys.path.insert(0, PACKAGES)
    from mpiimport.snapshot.loading import forget, load, load_extension, take_plan

    forget(PACKAGES, before)
    plan: dict[str, Any] = take_plan()
    own: Any = load(PACKAGES, "mpiimport.snapshot.audit.observer")
    observer: Observer = own.Observer()
    sys.meta_path.insert(0, observer)
    freeze: Any = observer.executing(own.OWN, lambda: load_extension(plan["freeze"]))
    observer.own = tuple(f"{directory}/" for directory in plan["own"])
    observer.install()
    parts: dict[str, Any] = {
        name.rpartition(".")[2]: load(PACKAGES, f"mpiimport.snapshot.{name}")
        for name in (
            *("audit.questions", "audit.directories", "audit.search_path", "audit.drawing", "audit.frames"),
            *("restore.undone", "restore.begin"),
        )
    }
    begin: Any = parts["begin"].Begin(*plan["begin"]) if plan["begin"] else None
    parts["questions"].Questions(observer, begin is not None and begin.is_spawned).watch()
    parts["directories"].watch()
    parts["search_path"].note_names(observer)
    parts["search_path"].note_relative(observer)
    run_site(observer, own.SITE)
    of_site = set(sys.modules)
    if plan["watches_path"]:
        parts["search_path"].SearchPath(observer).watch()
    parts["drawing"].Drawing(observer).watch()
    parts["frames"].Frames(observer).watch(freeze)
    observer.why_not = lambda has_threads: parts["undone"].why_not(has_threads, False)
    mask = posix.sched_getaffinity(0)
    failure = None
    if begin is not None:
        observer.executing(own.OWN, begin.prepare)
        before_it = observer.executing(own.OWN, lambda: import_of_mpi(observer, own.NEVER))
        failure = execute(begin, observer, plan["seconds"])
        behind_it = observer.executing(own.OWN, lambda: import_of_mpi(observer, own.NEVER))
        if plan["behind"] is not None and behind_it != before_it:
            failure = failure or (plan["behind"], f"what comes behind changes how {own.NEVER} is imported, which waits")
    there = set(sys.modules)
    renewed, call_after = call_hooks(observer)
    undone = observer.undone if observer.executing(own.OWN, lambda: observer.why_not(True)) else None
    sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not observer]
    # The recorder sees what pthread_atfork(3) has registered: a snapshot is of a forked process.
    observer.executing(own.FORK, freeze.fork_alone)
    call_after()
    found = {
        "failure": failure or undone,
        "begun": observer.begun,
        "of_site": sorted(of_site),
        "there": [name for name in sys.modules if name in there],
        "reads": [(*read, number) for read, number in observer.reads.items()],
        "wants_mpi": observer.wants_mpi,
        "bound": posix.sched_getaffinity(0) != mask,
        "renewed": renewed,
        "entries": sorted(observer.entries),
        "relative": sorted(observer.relative),
        "sources": {name: source_of(name) for name in there},
        "looked_for": sorted(observer.looked_for),
        "has_handlers": observer.has_handlers,
    }
    with open(plan["output"], "wb") as stream:
        marshal.dump(found, stream)
    # What the program would do at its end, nobody has asked for.
    posix._exit(0)


if __name__ == "__main__":
    observe()
