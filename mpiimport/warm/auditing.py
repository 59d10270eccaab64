"""Imports a program's modules to see what they do: ``python [options] auditing.py PLAN``.

PLAN is a file that marshal reads: ``package``; ``modules``; ``script``: what ScriptBegin takes, or nothing; ``output``;
``order``: of modules, see graph.py; ``places``: see other_places; ``behind``: modules that may mention MPI;
``way``: "causes" marks for the recorder which module is executed, and writes who imports whom; "state" writes the graph
of the interpreter's state; ``host``: what it is told to be the host's name, or nothing; ``freeze``: the extension
module.
"""

import sys

# So many objects fill and leave places before others come.
PLACES = 100_000
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    from .witness import Witness


def load(package: str, name: str) -> "ModuleType":
    """Import a module of mpiimport, and leave none of them among the modules."""
    before = set(sys.modules)
    sys.path.insert(0, package)
    __import__(name)
    module = sys.modules[name]
    sys.path.remove(package)
    for each in set(sys.modules) - before:
        if each.partition(".")[0] == "mpiimport":
            del sys.modules[each]
    sys.path_importer_cache.pop(package, None)
    return module


def script_begin(package: str, script: "tuple[Any, ...]") -> "tuple[Any, Any]":
    """Return a ScriptBegin and its code, with ``__main__`` ready for it, and none of mpiimport's modules imported."""
    begin: Any = load(package, "mpiimport.warm.beginning_of_script")
    begin = begin.ScriptBegin(*script)
    if vars(sys.modules["__main__"]) is globals():
        sys.modules["__main__"] = type(sys)("__main__")
    return begin, begin.prepare()


def do(plan: "dict[str, Any]", witness: "Witness") -> "tuple[list[str], str]":
    """Import, and run the begin of the script. Return which modules failed, and why the script did."""
    failed, failure = [], ""
    for name in plan["modules"]:
        try:
            # One that waits for its first use would be executed.
            if name not in sys.modules:
                __import__(name)
        except Exception:  # noqa: PERF203
            failed.append(name)
    if plan["script"]:
        begin, code = witness.executing("mpiimport", lambda: script_begin(plan["package"], plan["script"]))
        failure = witness.executing("__main__", lambda: begin.run(code))
        for stream in (sys.stdout, sys.stderr):
            witness.executing("__main__", stream.flush)
    return failed, failure


def call_hooks(witness: "Witness") -> "tuple[list[tuple[str, str]], Callable[[], None]]":
    """Call what was given to ``before_image``. Return what ``after_start`` renews, and what calls its functions."""
    hooks: Any = sys.modules.get("mpiimport.warm.hooks")
    if hooks is None:
        return [], lambda: None
    for function in reversed(hooks._before):
        witness.executing(function.__module__, function)

    def call() -> None:
        for function in hooks._after:
            witness.executing("after_start of " + function.__module__, function)

    return sorted(hooks._renewed), call


def run_site(witness: "Witness", name: str) -> None:
    """Do what the interpreter was told to leave (-S): see the module site. The witness is the first finder again."""

    def run() -> None:
        import site

        site.main()

    witness.executing(name, run)
    sys.meta_path.remove(witness)
    sys.meta_path.insert(0, witness)


def name_host(name: str) -> "list[str]":
    """Let Python code take this for the host's name, by uname(2), if it is not empty. Return what it is told."""
    import os
    import posix

    told = list(os.uname())
    told[1] = name or told[1]
    posix.uname = os.uname = lambda: os.uname_result(told)
    return told


def is_of_c(module: object) -> bool:
    """Tell whether a module is a library."""
    from _frozen_importlib_external import ExtensionFileLoader

    return isinstance(getattr(spec_of(module), "loader", None), ExtensionFileLoader)


def spec_of(module: object) -> object:
    """Return the spec of a module, which is not executed by that where it waits for its first use."""
    try:
        found: object = object.__getattribute__(module, "__spec__")
    except AttributeError:
        return None
    return found


def mentions(name: str, text: str) -> bool:
    """Tell whether the source of a module has this text."""
    origin = getattr(spec_of(sys.modules.get(name)), "origin", None)
    if not isinstance(origin, str) or not origin.endswith(".py"):
        return False
    try:
        with open(origin, "rb") as stream:
            return text.encode() in stream.read()
    except OSError:
        return False


def other_places(number: int) -> "list[bytes]":
    """Have the next objects lie in other places of the memory, relative to each other. Return what keeps them taken.

    ``number``: which places; with 0 they are as they are.
    """
    taken: list[bytes] = []
    for _ in range(PLACES if number else 0):
        # Numbers without a pattern: ANSI C's generator.
        number = (number * 1103515245 + 12345) % 2**31
        taken.append(bytes(number >> 16 & 511))
        if number >> 8 & 1:
            taken[(number >> 4) % len(taken)] = b""
    return taken


def audit() -> None:
    """Import what the plan names, and write what was seen."""
    import gc
    import marshal
    import posix

    with open(sys.argv[1], "rb") as stream:
        plan: dict[str, Any] = marshal.load(stream)
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        del sys.path[0]
    own: Any = load(plan["package"], "mpiimport.warm.witness")
    witness = own.Witness()
    sys.meta_path.insert(0, witness)
    of_site: set[str] = set()
    if plan["way"] == "causes":
        making: Any = load(plan["package"], "mpiimport.warm.making")
        freeze = witness.executing(own.OWN, lambda: making.load_extension(plan["freeze"]))
        witness.install()
        directories: Any = load(plan["package"], "mpiimport.warm.directories")
        directories.watch()
        run_site(witness, own.SITE)
        of_site.update(sys.modules)
        if not plan["script"]:
            search: Any = load(plan["package"], "mpiimport.warm.search_path")
            search.SearchPath(witness).watch()
        drawing: Any = load(plan["package"], "mpiimport.warm.drawing")
        drawing = drawing.Drawing(witness)
        drawing.watch()
        frames: Any = load(plan["package"], "mpiimport.warm.frames")
        frames.Frames(witness).watch(freeze)
    else:
        told = name_host(plan["host"])
        calls: Any = load(plan["package"], "mpiimport.warm.calls").Calls()
        calls.watch()
    mask = posix.sched_getaffinity(0)
    plan["taken"] = other_places(plan["places"])
    failed, failure = do(plan, witness)
    there = set(sys.modules)
    renewed, call_after = call_hooks(witness)
    sys.meta_path.remove(witness)
    found: dict[str, Any] = {}
    if plan["way"] == "causes":
        # The recorder sees what pthread_atfork(3) has registered: an image is of a forked process.
        witness.executing(own.FORK, freeze.fork_alone)
        call_after()
        behind = plan["behind"]
        found["mentions"] = witness.executing(own.OWN, lambda: [each for each in behind if mentions(each, own.NEVER)])
        found["of_c"] = [name for name, module in sys.modules.items() if is_of_c(module)]
    found |= {"failed": failed, "edges": sorted(witness.edges), "reads": sorted(witness.reads)}
    found["bound"] = posix.sched_getaffinity(0) != mask
    found |= {"failure": failure, "renewed": renewed, "looked_for": sorted(witness.looked_for)}
    found |= {"entries": sorted(witness.entries), "moving": sorted(witness.moving - {""})}
    found["of_site"] = sorted(of_site)
    found["tree"] = [*sys.path, sys.prefix, sys.base_prefix, sys.exec_prefix]
    found["there"] = [name for name in sys.modules if name in there]
    if plan["way"] == "state":
        before = set(sys.modules)
        sys.path.insert(0, plan["package"])
        import mpiimport.warm.graph as graph
        from mpiimport.warm.settings import settings

        sys.path.remove(plan["package"])
        told_to_all = {**settings(before), "calls": dict(sorted(calls.noted.items()))}
        # The questions are none of the modules' differences.
        told.clear()
        calls.noted.clear()
        # Who has left one is left out; this one would see all that the graph does.
        sys.setprofile(None)
        sys.settrace(None)
        # Weak references lead to what has ended, until the collector comes.
        gc.collect()
        left_out = {*set(sys.modules).difference(before), *(() if plan["script"] else {"__main__"})}
        found["state"] = graph.Graph(left_out, plan["order"], told_to_all).values
    with open(plan["output"], "wb") as stream:
        marshal.dump(found, stream)


if __name__ == "__main__":
    audit()
