"""A variation run: executes the begin of a program, and writes the state of its interpreter: ``varying.py PLAN``.

PLAN is a file that marshal reads: ``begin``: what Begin takes; ``host``: what it is told to be the host's
name, or nothing; ``output``: gets ``failure``, why it did not come to its end, and ``state``, see graph.py.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PACKAGES = __file__.rsplit("/", 4)[0]


class NoMpi:
    """A finder that keeps mpi4py out: see importlib.abc.MetaPathFinder."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.partition(".")[0] == "mpi4py":
            raise ImportError(f"{name} belongs to MPI, which is in no snapshot")


def name_host(name: str) -> "list[str]":
    """Let Python code take this for the host's name, by uname(2), if it is not empty. Return what it is told."""
    import os
    import posix

    told = list(os.uname())
    told[1] = name or told[1]
    posix.uname = os.uname = lambda: os.uname_result(told)
    return told


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
    finder: Any = NoMpi()
    sys.meta_path.insert(0, finder)
    told = name_host(plan["host"])
    sys.modules["__main__"] = type(sys)("__main__")
    begin: Any = load(PACKAGES, "mpiimport.snapshot.restore.begin")
    begin = begin.Begin(*plan["begin"])
    begin.prepare()
    failure = begin.run()
    hooks: Any = sys.modules.get("mpiimport.snapshot.hooks")
    for function in reversed(hooks._before) if hooks is not None else ():
        function()
    sys.meta_path.remove(finder)
    there = set(sys.modules)
    sys.path.insert(0, PACKAGES)
    import mpiimport.snapshot.audit.graph as graph

    sys.path.remove(PACKAGES)
    # The question is none of the modules' differences.
    told.clear()
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
