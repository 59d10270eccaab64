"""Activates in an unchanged ``python app.py`` when this directory is on PYTHONPATH; runs the next sitecustomize.

Must parse on any Python.
"""

import os
import sys


def _activate(here):  # type: (str) -> bool
    """Tell whether Pythons that this process starts are to come here, too."""
    # Another entry point may have been first.
    if os.environ.get("MPIIMPORT", "") in ("", "0") or "mpiimport.runtime" in sys.modules:
        return False
    sys.path.insert(0, os.path.dirname(os.path.dirname(here)))
    try:
        from mpiimport.served_pythons import say_plain, why_not

        reason = why_not()
        if reason:
            say_plain(reason)
            for name in [name for name in sys.modules if name.split(".")[0] == "mpiimport"]:
                del sys.modules[name]
            return False
        from mpiimport.runtime import own_files

        own_files.hide()
        from mpiimport.runtime.clock import phases

        phases.begin_life()
        from mpiimport.runtime.startup.command import activate_interpreter
    except Exception as exc:
        if sys.stderr is not None:
            sys.stderr.write("mpiimport: running as plain Python: mpiimport does not load (%r)\n" % exc)
        return False
    finally:
        del sys.path[0]
    return activate_interpreter()


def _forget_for_children(here):  # type: (str) -> None
    """Take this directory off the search path of what this process starts."""
    entries = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry != here]
    if any(entries):
        os.environ["PYTHONPATH"] = os.pathsep.join(entries)
    else:
        os.environ.pop("PYTHONPATH", None)


# The name belongs to the next one; where there is none, site takes the ImportError for just that. Python 2 clears a
# module that nothing holds.
_own = sys.modules.pop("sitecustomize")
_here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [entry for entry in sys.path if entry != _here]
if not _activate(_here):
    _forget_for_children(_here)
import sitecustomize  # noqa: E402, F401
