"""Has the memory of a stopped process written. This process ends behind it, so anything may be imported."""

import os
import signal
from typing import Any

from ..memory_map import Refused
from .plan import Plan
from .writer import Writer


def write(pid: int, plan: Plan, freeze: Any, took: float) -> str:
    """Write the memory of the child, which is stopped; end it, and return what to say.

    ``took``: how long the begin kept a core (s).
    """
    _, status = os.waitpid(pid, os.WUNTRACED)
    try:
        if not os.WIFSTOPPED(status):
            raise Refused("the process that becomes the snapshot ended early")
        notes = freeze.place()
        place = int.from_bytes(notes[:8], "little"), int.from_bytes(notes[8:], "little")
        writer = Writer(pid, place, freeze.digest, plan.key)
        writer.free(plan.free)
        size = writer.write(plan.image, plan.words, plan.variables, plan.files)
    except Refused as exc:
        return f"refused: {exc}"
    except OSError as exc:
        return f"refused: {plan.image} cannot be written: {exc.strerror}"
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return f"written: {size} {took:.6f}"
