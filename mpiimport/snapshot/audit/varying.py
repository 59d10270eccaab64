"""A variation run: executes the begin of a program, and writes the state of its interpreter: ``varying.py PLAN``.

PLAN is a file that marshal reads: ``begin``: what Begin takes; ``host``: what it gets as the host's
name, or nothing; ``behind``: the first statement behind an import of mpi4py that waits, for which something stands in
then, or None; ``displaced``: objects of each size that lie before all others; ``output``: gets ``failure``, why it did
not come to its end, and ``state``, see graph.py.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PACKAGES = __file__.rsplit("/", 4)[0]
# Bytes of the largest object that pymalloc puts beside others of its size.
LARGEST = 512


class NoMpi:
    """A finder that keeps mpi4py out: see importlib.abc.MetaPathFinder."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.partition(".")[0] == "mpi4py":
            raise ImportError(f"{name} belongs to MPI, which is in no snapshot")


def name_host(name: str) -> "list[str]":
    """Let Python code take this for the host's name, by uname(2), if it is not empty. Return what it gets."""
    import os
    import posix

    told = list(os.uname())
    told[1] = name or told[1]
    posix.uname = os.uname = lambda: os.uname_result(told)
    return told


def displace(number: int) -> "list[bytes]":
    """Return so many objects of each size: while they are there, others have other places in memory."""
    return [bytes(size) for size in range(0, LARGEST, 16) for _ in range(number)]


def vary() -> None:
    """Execute the begin, and write what came of it."""
    import gc
    import marshal
    import posix

    before = set(sys.modules)
    sys.path.insert(0, PACKAGES)
    from mpiimport.snapshot.loading import forget, load, take_plan

    forget(PACKAGES, before)
    plan: dict[str, Any] = take_plan()
    standing_in: Any = load(PACKAGES, "mpiimport.snapshot.audit.mpi_standing_in")
    behind: int | None = plan["behind"]
    finder: Any = NoMpi() if behind is None else standing_in.Finder()
    sys.meta_path.insert(0, finder)
    displacing = displace(plan["displaced"])
    told = name_host(plan["host"])
    sys.modules["__main__"] = type(sys)("__main__")
    begin: Any = load(PACKAGES, "mpiimport.snapshot.restore.begin")
    begin = begin.Begin(*plan["begin"])
    begin.prepare()
    failure = begin.run() if behind is None else begin.run((behind, lambda: __import__(standing_in.NEVER)))
    hooks: Any = sys.modules.get("mpiimport.snapshot.hooks")
    for function in reversed(hooks._before) if hooks is not None else ():
        function()
    if behind is not None and not failure:
        standing_in.remove(begin.names_of_deferred())
    sys.meta_path.remove(finder)
    there = set(sys.modules)
    sys.path.insert(0, PACKAGES)
    import mpiimport.snapshot.audit.graph as graph

    sys.path.remove(PACKAGES)
    # The question is none of the modules' differences.
    told.clear()
    del displacing
    sys.setprofile(None)
    sys.settrace(None)
    # Weak references lead to what has ended, until the collector comes.
    gc.collect()
    # Nothing of what the graph is made of is garbage.
    gc.disable()
    state = graph.Graph(set(sys.modules).difference(there)).values
    with open(plan["output"], "wb") as stream:
        marshal.dump({"failure": failure, "state": state}, stream)
    # What the program would do at its end, nobody has asked for.
    posix._exit(0)


if __name__ == "__main__":
    vary()
