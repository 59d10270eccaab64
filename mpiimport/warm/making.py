"""The maker: ``python [options] making.py PLAN`` imports modules, forks, and writes the memory of the child.

PLAN is a file that marshal reads: a dictionary with ``modules`` to import, in this order; ``image``, the file to write;
``words``, the interpreter and its options; ``variables``, ``free`` and ``files`` of the key; ``generators``: (module,
attribute); ``freeze``: the extension module; ``without``: remedies that are left out; ``threads``: modules whose
libraries may have started threads, for their fork handlers end them; ``leading``: with what the script must begin;
``script``: what ScriptBegin takes, where the image holds what the script does, or nothing; ``module``: what
ModuleBegin takes, where the program is one, or nothing; ``names``: what imports looked for; ``beside``: modules that
were beside the script then; ``cores``: whether imports asked which processors are of one core; ``absent``: paths that
no start may have; ``entries``: where the script may not lie; ``signals``: those of which imports have said what is
done; ``said``: a file for what is to be said; ``key``: by which the door knows the program; ``place``: the directory
of the kept stores for one of which the image is made, or nothing; ``kept``: what StoreBehind takes, or nothing.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any


def load_extension(path: str) -> "ModuleType":
    """Load our extension module, which is entered in no table."""
    import _frozen_importlib
    import _imp

    spec = _frozen_importlib.ModuleSpec("warm_freeze", None, origin=path)
    return _imp.create_dynamic(spec)


def read_plan() -> "dict[str, Any]":
    """Read the plan, and take from the search path what led here."""
    import marshal

    with open(sys.argv[1], "rb") as stream:
        plan: dict[str, Any] = marshal.load(stream)
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        del sys.path[0]
    return plan


def load_own(package: str, *at_end: "Any") -> "tuple[Any, ...]":
    """Import what a start executes, and take its names away again. ``at_end``: what ``ending.look_at_all`` takes."""
    sys.path.insert(0, package)
    before = set(sys.modules)
    import atexit

    from mpiimport.runtime import messages
    from mpiimport.warm import (
        beginning,
        beginning_of_module,
        beginning_of_script,
        collecting,
        ending,
        fork_handlers,
        remedies,
        store_behind,
    )

    # The first one is called last.
    atexit.register(ending.look_at_all, *at_end)
    sys.path.remove(package)
    for name in set(sys.modules) - before:
        if name.partition(".")[0] == "mpiimport" or name in sys.builtin_module_names:
            del sys.modules[name]
    for path in [*sys.path_importer_cache]:
        if f"{path}/".startswith(f"{package}/mpiimport/") or path == package:
            del sys.path_importer_cache[path]
    own = beginning, beginning_of_module, beginning_of_script, remedies, messages, store_behind
    return *own, collecting, ending, fork_handlers


def given_variables() -> "list[bytes]":
    """Return the variables this process was started with. By now the interpreter has set LC_CTYPE, say: PEP 538."""
    with open("/proc/self/environ", "rb") as stream:
        return stream.read().split(b"\0")


def changes(before: "dict[bytes, bytes]", after: "dict[bytes, bytes]") -> "dict[bytes, bytes | None]":
    """Return what became of variables: name -> value, None where it was removed."""
    changed: dict[bytes, bytes | None] = {name: value for name, value in after.items() if before.get(name) != value}
    changed.update((name, None) for name in before if name not in after)
    return changed


def line_buffering() -> "dict[str, bool]":
    """Return of each standard stream whether it is written out at the end of a line."""
    streams = {name: getattr(sys, name) for name in ("stdin", "stdout", "stderr")}
    return {name: stream.line_buffering for name, stream in streams.items() if hasattr(stream, "line_buffering")}


def why_not(threads: bool) -> str:
    """Return why this process can have no image, or nothing."""
    import posix

    for name in ("stdin", "stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None or stream is not getattr(sys, f"__{name}__") or type(stream).__name__ != "TextIOWrapper":
            return f"sys.{name} was replaced by an import"
        if stream.closed:
            return f"sys.{name} was closed by an import"
    with open("/proc/self/status", "rb") as stream:
        if any(line.startswith(b"SigBlk:") and int(line.split()[1], 16) for line in stream):
            return "an import has blocked a signal"
    if len(posix.listdir("/proc/self/task")) > 1 and not threads:
        return "a thread was started by an import"
    for entry in posix.listdir("/proc/self/fd"):
        try:
            target = posix.readlink("/proc/self/fd/" + entry)
        except OSError:
            continue
        if int(entry) > 2:
            return f"an import left a file open: {target}"
    try:
        posix.waitpid(-1, posix.WNOHANG)
    except ChildProcessError:
        return ""
    return "an import started a process"


def write(pid: int, plan: "dict[str, Any]", place: "tuple[int, int]", digest: "Any") -> str:
    """Write the memory of the stopped child; return what to say."""
    import signal
    from os import WIFSTOPPED, kill, waitpid

    sys.path.insert(0, plan["package"])
    try:
        import functools
        import subprocess  # noqa: F401  what writes may import anything: this process ends here

        from mpiimport.warm.memory_map import Refused
        from mpiimport.warm.room import make_room
        from mpiimport.warm.writer import Writer
    except Exception as exc:
        kill(pid, signal.SIGKILL)
        return f"refused: the imports change Python's library so that ours fail behind them: {exc!r}"
    _, status = waitpid(pid, 2)
    try:
        if not WIFSTOPPED(status):
            raise Refused("the process of which the image is to be ended early")
        room = functools.partial(make_room, plan["place"]) if plan["place"] else None
        writer = Writer(pid, place, digest, plan["key"], room)
        writer.free(plan["free"])
        size, body = writer.write(plan["image"], plan["words"], plan["variables"], plan["files"])
    except Refused as exc:
        return f"refused: {exc}"
    except OSError as exc:
        return f"refused: {plan['image']} cannot be written: {exc.strerror}"
    finally:
        kill(pid, signal.SIGKILL)
        waitpid(pid, 0)
    return f"written: {size} {body}"


def say(plan: "dict[str, Any]", text: str) -> None:
    """Leave one line for who started the maker."""
    with open(plan["said"], "w") as stream:
        stream.write(text)


def make() -> None:
    """Make the image, in this process and a child; in a process that starts from it, run the program and end."""
    import builtins
    import posix

    plan = read_plan()
    importing = builtins.__import__
    freeze: Any = load_extension(plan["freeze"])
    counted: tuple[Any, ...] = ([], [])
    *own, collecting, ending, fork_handlers = load_own(plan["package"], bool(plan["script"]), *counted)
    beginning, beginning_of_module, beginning_of_script, remedies, messages, store_behind = own
    before = remedies.variables_of(given_variables())
    sys.modules["__main__"] = beginning.new_main()
    script = beginning_of_script.ScriptBegin(*plan["script"]) if plan["script"] else None
    lines = line_buffering()
    if sys.version_info >= (3, 14) and ("_ctypes" in plan["modules"] or plan["kept"]):
        keep_from_files(freeze)
    reason = do(plan["modules"], script)
    # What has been put in its place is called for imports of the program, and not for ours.
    replaced, builtins.__import__ = builtins.__import__, importing
    imported = set(sys.modules)
    names = frozenset([*(name.partition(".")[0] for name in imported), *plan["names"]]) - {"__main__"}
    start = remedies.Start(freeze, len(plan["words"]))
    start.importing = replaced
    freeze.messages = messages
    start.c_changes = changes(before, remedies.variables_of(freeze.environ()))
    start.python_changes = changes(before, dict(sys.modules["os"].environ._data))
    start.signals = set(plan["signals"])
    start.generators = [remedies.named(sys.modules[module], name) for module, name in plan["generators"]]
    start.objects = remedies.objects_of(remedies.package_remedies.CLASSES)
    reason = reason or why_not(bool(plan["threads"]))
    if reason:
        say(plan, f"refused: {reason}")
        return
    if plan["kept"]:
        store_behind.StoreBehind(*plan["kept"]).wait()
    start.lines = {name: chosen for name, chosen in line_buffering().items() if chosen != lines.get(name)}
    start.fork_handlers = fork_handlers.ForkHandlers()
    start.fork_handlers.leave_out()
    reason = collecting.pass_over(freeze, ending, *counted)
    if reason:
        say(plan, f"refused: {reason}")
        return
    if "gc" not in imported:
        sys.modules.pop("gc", None)
    sys.stdout.flush()
    sys.stderr.flush()
    pid = posix.fork()
    if pid:
        say(plan, write(pid, plan, numbers_of(freeze.place()), freeze.digest))
        posix._exit(0)
    if plan["cores"]:
        freeze.note_cores()
    start.words = freeze.freeze()
    if not start.words:
        posix._exit(1)
    module = beginning_of_module.ModuleBegin(*plan["module"]) if plan["module"] else None
    beside = set(plan["beside"])
    expected = beginning.Expected(names, plan["leading"], script, beside, module, plan["absent"], plan["entries"])
    raise SystemExit(beginning.begin(start, expected, plan["without"]))


def keep_from_files(freeze: "Any") -> None:
    """Have libffi make callbacks in memory of no file.

    Else it keeps the file of its library open for more of them, by a number that the processes which start have for
    something else. It decides so once, for its first callback: ``_ctypes`` makes that, of Python 3.14 and later.
    """
    import _frozen_importlib

    bootstrap: Any = _frozen_importlib
    spec = bootstrap._find_spec("_ctypes", None)
    module = bootstrap.module_from_spec(spec)
    freeze.without_files(lambda: spec.loader.exec_module(module))


def do(modules: "list[str]", script: "Any") -> str:
    """Import, or run the begin of the script, and what was given to before_image. Return why there is no image."""
    if script is None:
        for name in modules:
            # One that waits for its first use would be executed.
            if name not in sys.modules:
                __import__(name)
    else:
        failure: str = script.run(script.prepare())
        if failure:
            return f"the script does not come to at_image(): {failure}"
    hooks: Any = sys.modules.get("mpiimport.warm.hooks")
    functions = reversed(hooks._before) if hooks is not None else ()
    try:
        for function in functions:
            function()
    except Exception as exc:
        return f"before_image: {type(exc).__name__}: {exc}".rstrip(": ")
    return ""


def numbers_of(data: bytes) -> "tuple[int, int]":
    """Return address and size, of the two numbers that the extension module gives."""
    return int.from_bytes(data[:8], "little"), int.from_bytes(data[8:], "little")


if __name__ == "__main__":
    make()
