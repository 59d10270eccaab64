"""The agreement that ends each piece of the start-up's work: it has succeeded on every rank, or it counts on none."""

from ..clock import phases
from ..messages import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from ..mpi.transport import Transport

    Result = TypeVar("Result")

# Longest text, in bytes, that the rank where a phase failed sends to all.
REASON = 300


class Bypassed(Exception):
    """The service does not start; the message says why. The job runs as plain Python."""


class Agreement:
    """The agreement among the ranks of a transport."""

    def __init__(self, transport: "Transport") -> None:
        self._transport = transport

    def phase(self, name: str, counted_as: str, work: "Callable[..., Result]", *arguments: object) -> "Result":
        """Return what ``work`` returns, once it has succeeded everywhere. Collective.

        ``work``: local, so that nobody waits while it fails. Raises Bypassed on every rank where it failed on one.
        ``counted_as``: the one of ``clock.PHASES`` to which the time from here to the next phase belongs.
        """
        transport = self._transport
        results: list[Result] = []
        failed, reason = transport.size, b""
        try:
            phases.begin(counted_as)
            results.append(work(*arguments))
        except Exception as exc:
            failed, reason = transport.rank, _reason(exc, name, transport.rank)
        (first,), _ = transport.extremes([failed])
        if first < transport.size:
            raise Bypassed(transport.broadcast(reason, first).decode(errors="replace"))
        (result,) = results
        return result


def alone(rank: int, work: "Callable[..., object]", *arguments: object) -> None:
    """Do what concerns this rank only, after the last agreement. Where it fails the rank says so, and goes on."""
    try:
        work(*arguments)
    except Exception as exc:
        say(f"mpiimport[{rank}]: goes on without what failed: {exc!r}")


def _reason(exc: Exception, name: str, rank: int) -> bytes:
    """Return what to say of a failure. Never raises: file names are part of it, and need not be UTF-8."""
    try:
        text = str(exc)
    except Exception:
        text = ""
    if not isinstance(exc, Bypassed):
        text = f"{name} failed on rank {rank}: {text or type(exc).__name__}"
    return text.encode(errors="backslashreplace")[:REASON]
