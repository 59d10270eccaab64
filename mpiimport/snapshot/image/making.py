"""Makes a snapshot: ``python [options] making.py PLAN``; see plan.py.

This process executes the begin of the program, and forks. The child stops, and its parent writes its memory. A process
that starts from that goes on in the child's place.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from mpiimport.snapshot.image.plan import Plan
    from mpiimport.snapshot.restore.start_data import Start

PACKAGES = __file__.rsplit("/", 4)[0]


class Own:
    """Our modules that a start executes. Their names are taken away again."""

    def __init__(self) -> None:
        sys.path.insert(0, PACKAGES)
        before = set(sys.modules)
        import atexit

        from mpiimport.runtime import messages
        from mpiimport.snapshot import loading
        from mpiimport.snapshot.image import plan
        from mpiimport.snapshot.restore import (
            begin,
            collecting,
            ending,
            fork_handlers,
            reinitialisers,
            reporting,
            resume,
            undone,
        )

        # The first one is called last.
        self.end = ending.End()
        atexit.register(self.end.look_at_all)
        self.begin, self.resume, self.messages, self.reinitialisers = begin, resume, messages, reinitialisers
        self.collecting, self.ending = collecting, ending
        self.fork_handlers, self.plan, self.undone = fork_handlers, plan, undone
        self.load_extension, self.take_plan = loading.load_extension, loading.take_plan
        new = set(sys.modules) - before
        ours = {name: sys.modules[name] for name in new if name.partition(".")[0] == "mpiimport"}
        loading.forget(PACKAGES, before)
        for name in new.intersection(sys.builtin_module_names):
            sys.modules.pop(name, None)
        self.reporting = reporting.Reporting(ours)


class Making:
    """``plan``: what it gets; ``freeze``: the extension module; ``start``: what a start gets."""

    def __init__(self) -> None:
        import builtins

        self._importing = builtins.__import__
        self._own = Own()
        self.plan: Plan = self._own.plan.Plan(**self._own.take_plan())
        self.freeze: Any = self._own.load_extension(self.plan.freeze)
        self._begin = self._own.begin.Begin(*self.plan.begin)
        self.start: Start = self._own.reinitialisers.Start(self.freeze, len(self.plan.words))

    def prepare(self) -> str:
        """Execute the begin, and bring the process to rest. Return why there can be no snapshot, or nothing."""
        own, start = self._own, self.start
        before = own.reinitialisers.variables_of(given_variables())
        sys.modules["__main__"] = own.resume.new_main()
        self._begin.prepare()
        lines = line_buffering()
        if sys.version_info >= (3, 14) and self.plan.has_callbacks:
            keep_from_files(self.freeze)
        reason: str = self._begin.run() or call_before()
        own.reporting.end_imports(self.plan.is_base)
        self._note(before)
        reason = reason or own.undone.why_not(self.plan.has_threads)
        if reason:
            return reason
        start.lines = {name: chosen for name, chosen in line_buffering().items() if chosen != lines.get(name)}
        start.fork_handlers = own.fork_handlers.ForkHandlers()
        start.fork_handlers.leave_out()
        had_collector = "gc" in self._imported
        reason = own.collecting.pass_over(self.freeze, own.ending, own.end, self.plan.has_handlers)
        if not had_collector:
            sys.modules.pop("gc", None)
        sys.stdout.flush()
        sys.stderr.flush()
        return reason

    def _note(self, before: "dict[bytes, bytes]") -> None:
        """Take note of what each start is to make new. ``before``: the variables, before the begin."""
        # What has been put in its place is called for imports of the program, and not for ours.
        builtins: Any = sys.modules["builtins"]
        replaced, builtins.__import__ = builtins.__import__, self._importing
        import posix

        reinitialisers, start = self._own.reinitialisers, self.start
        self._imported = set(sys.modules)
        start.importing, start.reporting = replaced, self._own.reporting
        self.freeze.messages = self._own.messages
        start.c_changes = changes(before, reinitialisers.variables_of(self.freeze.environ()))
        start.python_changes = changes(before, dict(sys.modules["os"].environ._data))
        start.signals = set(self.plan.signals)
        start.reinitialiser = "; mpiimport prepare makes it anew" if self.plan.key else ""
        start.numbers.add(posix.getpid())
        start.directory = posix.readlink("/proc/self/cwd")
        start.generators = [reinitialisers.named(sys.modules[module], name) for module, name in self.plan.generators]
        start.settled = dict.fromkeys(self.plan.settled)
        if "random:_inst" in start.settled:
            start.settled["random:_inst"] = reinitialisers.executed("random")._inst.getstate()
        start.objects = reinitialisers.objects_of(reinitialisers.package_reinitialisers.CLASSES)

    def expected(self) -> "Any":
        """Return what the program of a start must be."""
        names = frozenset([*(name.partition(".")[0] for name in self._imported), *self.plan.names]) - {"__main__"}
        plan = self.plan
        of_module = self._own.resume
        relative = {path: of_module.Beside(names, entries) for path, entries in plan.relative.items()}
        beside = of_module.Beside(names, plan.beside)
        return of_module.Expected(self._begin, beside, plan.absent, plan.entries, relative, plan.arguments)

    def write(self, pid: int) -> str:
        """Write the memory of the stopped child; return what to say. This process ends behind it."""
        import signal
        from os import kill

        sys.path.insert(0, PACKAGES)
        try:
            from mpiimport.snapshot.image import writing
        except Exception as exc:
            kill(pid, signal.SIGKILL)
            return f"refused: the imports change Python's library so that ours fail behind them: {exc!r}"
        said: str = writing.write(pid, self.plan, self.freeze, self._own.reporting.took)
        return said

    def resume(self) -> int:
        """Run the program in a process that starts from the snapshot; return its status."""
        status: int = self._own.resume.resume(self.start, self.expected(), self.plan.without)
        return status


def make() -> None:
    """Make the snapshot, in this process and a child; in a process that starts from it, run the program and end."""
    import posix

    making = Making()
    reason = making.prepare()
    if reason:
        say(making.plan, f"refused: {reason}")
        return
    pid = posix.fork()
    if pid:
        say(making.plan, making.write(pid))
        posix._exit(0)
    making.start.numbers.add(posix.getpid())
    if making.plan.cores:
        making.freeze.note_cores()
    making.start.words = making.freeze.freeze()
    if not making.start.words:
        posix._exit(1)
    raise SystemExit(making.resume())


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


def say(plan: "Plan", text: str) -> None:
    """Leave one line for who started the maker."""
    with open(plan.said, "w") as stream:
        stream.write(text)


def keep_from_files(freeze: "Any") -> None:
    """Have libffi make callbacks in memory of no file.

    Else it keeps the file of its library open for more of them, by a number that the processes which start have for
    something else. It decides so once, for its first callback: ``_ctypes`` makes that, of Python 3.14 and later.
    """
    import _frozen_importlib

    bootstrap: Any = _frozen_importlib
    spec = bootstrap._find_spec("_ctypes", None)
    module: ModuleType = bootstrap.module_from_spec(spec)
    freeze.without_files(lambda: spec.loader.exec_module(module))


def call_before() -> str:
    """Call what was registered for before a snapshot, the last one first. Return why there is none, or nothing."""
    hooks: Any = sys.modules.get("mpiimport.snapshot.hooks")
    try:
        for function in reversed(hooks._before) if hooks is not None else ():
            function()
    except Exception as exc:
        return f"register_before_snapshot: {type(exc).__name__}: {exc}".rstrip(": ")
    return ""


if __name__ == "__main__":
    # A program that looks down the frames for its own finds its own.
    __name__ = "mpiimport"
    make()
