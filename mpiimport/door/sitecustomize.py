"""Activates in an unchanged ``python app.py`` when this directory is on PYTHONPATH; runs the next sitecustomize."""

import os
import sys


def _activate() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    _forget(here)
    if os.environ.get("MPIIMPORT", "") in ("", "0"):
        return
    sys.path.insert(0, os.path.dirname(os.path.dirname(here)))
    try:
        from mpiimport.runtime.startup.command import activate_interpreter
    except Exception as exc:
        if sys.stderr is not None:
            print(f"mpiimport: running as plain Python: mpiimport does not load ({exc!r})", file=sys.stderr)
        return
    finally:
        del sys.path[0]
    activate_interpreter()


def _forget(here: str) -> None:
    """Take this directory off the search paths of this process and its children."""
    sys.path[:] = [entry for entry in sys.path if entry != here]
    entries = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry != here]
    if any(entries):
        os.environ["PYTHONPATH"] = os.pathsep.join(entries)
    else:
        os.environ.pop("PYTHONPATH", None)


# The name belongs to the next one; where there is none, site takes the ImportError for just that.
del sys.modules["sitecustomize"]
_activate()
import sitecustomize  # noqa: E402, F401
