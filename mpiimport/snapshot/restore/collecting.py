"""Which objects of an image collections look at: none, if a process without that shows the same at its end.

Four collections at the end take longer than all the rest of a start. But what no collection looks at may not end, and
code of C may show that. So the end is tried, in children, before the image is made.
"""

import gc
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    from .ending import End

# An end that does not come is ended by a signal.
SECONDS = 60
# It counts the objects of its classes, and writes at the end which of them are still there.
COUNTS = "nanobind"
WORD = 8
MODULE = type(sys)


def pass_over(freeze: "Any", ending: "ModuleType", end: "End", has_handlers: bool) -> str:
    """Let collections pass over all objects, or all but few, or none, as the end needs it to show what it shows
    plainly. Return why there can be no snapshot, or nothing.

    ``freeze``: the extension module; ``end``: gets what it has to know; ``has_handlers``: own code does something at
    the end, so that is not tried.
    """
    end.has_variables = ending.holds_others(vars(sys.modules["__main__"]))
    gc.collect()
    if has_handlers or any(map(_acts_at_its_end, gc.get_objects())):
        return ""
    plainly = _of_child(_ends_after(lambda: None))
    if plainly[0] < 0:
        return f"with these imports a process that was forked is ended by signal {-plainly[0]} at its end"
    if _of_child(_ends_after(gc.freeze)) == plainly:
        gc.freeze()
        return ""
    told = _of_child(_tell_counted)[1]
    few = {int.from_bytes(told[at : at + WORD], "little") for at in range(0, len(told), WORD)}

    def all_but_few() -> None:
        end.watched.extend(_counting_classes())
        _pass_over_all_but(few, freeze)
        end.uses.extend(ending.uses_of(end.watched))

    if _of_child(_ends_after(all_but_few)) == plainly:
        all_but_few()
    return ""


def _acts_at_its_end(value: "Any") -> bool:
    """Tell whether code of a class runs when an object ends. Streams are looked after, and generators have no cycle."""
    kind = type(value)
    return kind.__module__ not in ("_io", "builtins") and hasattr(kind, "__del__")


def _of_child(work: "Callable[[int], Any]") -> "tuple[int, bytes]":
    """Let a child work, which is given a pipe. Return its status and what it wrote."""
    import _signal  # type: ignore[import-not-found]
    import posix

    sys.stdout.flush()
    sys.stderr.flush()
    reading, writing = posix.pipe()
    pid = posix.fork()
    if not pid:
        posix.close(reading)
        _signal.alarm(SECONDS)
        work(writing)
    posix.close(writing)
    with open(reading, "rb") as stream:
        said = stream.read()
    return posix.waitstatus_to_exitcode(posix.waitpid(pid, 0)[1]), said


def _ends_after(prepare: "Callable[[], object]") -> "Callable[[int], None]":
    """Return the work of a child that ends as a program does."""

    def end(writing: int) -> None:
        import posix

        for stream in (1, 2):
            posix.dup2(writing, stream)
        posix.close(writing)
        prepare()
        raise SystemExit

    return end


def _tell_counted(writing: int) -> None:
    """Write the addresses of what leads to objects that are counted, in as many steps as it takes; of modules, where it
    leads there. They are cleared at the end. What this takes is memory of the child alone.
    """
    import posix

    objects = gc.get_objects()
    own = object.__getattribute__
    found_modules = (each for each in sys.modules.values() if issubclass(type(each), MODULE))
    modules = {id(own(each, "__dict__")): id(each) for each in found_modules}
    modules |= dict(zip(modules.values(), modules.values(), strict=True))
    holders: dict[int, list[int]] = {}
    waiting = []
    for each in objects:
        for part in gc.get_referents(each):
            holders.setdefault(id(part), []).append(id(each))
            if type(type(part)).__module__ == COUNTS and not issubclass(type(part), type):
                waiting.append(id(part))
    found = set(waiting)
    while waiting:
        for holder in holders.get(waiting.pop(), ()):
            if holder in modules:
                found.add(modules[holder])
            elif holder not in found:
                found.add(holder)
                waiting.append(holder)
    posix.write(writing, b"".join(each.to_bytes(WORD, "little") for each in found))
    posix._exit(0)


def _pass_over_all_but(few: "set[int]", freeze: "Any") -> None:
    """``few``: addresses; modules among them stay until the interpreter clears what is left of them."""
    objects = [each for each in gc.get_objects() if id(each) in few]
    gc.freeze()
    for each in objects:
        if issubclass(type(each), MODULE):
            freeze.keep(each)
        else:
            freeze.look_at(each)


def _counting_classes() -> "list[type[Any]]":
    return [each for each in gc.get_objects() if issubclass(type(each), type) and type(each).__module__ == COUNTS]
