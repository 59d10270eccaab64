"""Who waited for whom: where ranks met, which of them came last, and why."""

from dataclasses import dataclass
from statistics import median
from typing import Any

from mpiimport.runtime.clock import BROADCAST, HANDSHAKE, READ

from .phases import BEFORE_HANDSHAKE, births, ends

# What held a rank up is worth a word from this share of all that did; and all of it, where the rank made up for less.
NOTABLE = 0.2
WITH_THE_OTHERS = "it came hardly later than the others"


@dataclass(frozen=True)
class Wait:
    """Where ranks waited. ``rank``: for whom; ``median``, ``longest``: of all ranks, in seconds."""

    where: str
    rank: int
    median: float
    longest: float
    why: str


def waits(facts: dict[str, Any]) -> list[Wait]:
    """Return where ranks waited for one, in their order; nothing where the report knows of one rank alone."""
    line = facts["time_line"]
    if len(line["ranks"]) < 2 or not line["wall"]:
        return []
    known = facts["phases"].keys() & line["wall"].keys()
    found = [of(facts) for phase, of in _MEETINGS.items() if phase in known]
    return [*found, _at_the_end(facts)]


def _at_handshake(facts: dict[str, Any]) -> Wait:
    """All ranks leave it together, so who was in it for the shortest time has come last."""
    spread, line = facts["phases"][HANDSHAKE]["wall"], facts["time_line"]
    spent, least = line["wall"][HANDSHAKE], spread["min"]
    last = spent.index(min(spent))
    waited = spread["median"] - least, spread["max"] - least
    return Wait(HANDSHAKE, line["ranks"][last], *waited, _why_late(line, last, waited[0]))


def _why_late(line: dict[str, Any], row: int, lateness: float) -> str:
    """Say what took a rank longer than the median, before the handshake, to which it came so many seconds later."""
    born = births(line)
    later = {"it was born {:.2f} s later than the median rank": born[row] - median(born)}
    for phase in BEFORE_HANDSHAKE:
        if phase in line["wall"]:
            spent = line["wall"][phase]
            later[f"its {phase} took {{:.2f}} s longer"] = spent[row] - median(spent)
    total = sum(seconds for seconds in later.values() if seconds > 0)
    if lateness < NOTABLE * total:
        return WITH_THE_OTHERS
    parts = sorted(((seconds, text) for text, seconds in later.items() if seconds > NOTABLE * total), reverse=True)
    return "; ".join(text.format(seconds) for seconds, text in parts) or WITH_THE_OTHERS


def _for_reading(facts: dict[str, Any]) -> Wait:
    spread, line, read = facts["phases"][READ]["wall"], facts["time_line"], facts.get("root_read", {})
    own = line["own"][READ][0]
    what = f"it read {read['files_opened']:,} files, {_bytes(read['bytes_read'])}" if read else "it read"
    return Wait(READ, 0, spread["median"], spread["max"], f"{what}; {own:.2f} s of that on a core")


def _for_broadcast(facts: dict[str, Any]) -> Wait:
    spread = facts["phases"][BROADCAST]["wall"]
    sent, copies = facts.get("bytes_broadcast", 0), facts.get("copies", 1)
    stored = facts.get("bytes_stored", 0)
    what = f"{_bytes(sent)} to each of {copies:,} stores" if sent else f"{_bytes(stored)} into the one store"
    return Wait(BROADCAST, 0, spread["median"], spread["max"], f"it read libraries on, and sent {what}")


def _at_the_end(facts: dict[str, Any]) -> Wait:
    line = facts["time_line"]
    ended = ends(line)
    last = ended.index(max(ended))
    waited = [max(ended) - end for end in ended]
    most = max(line["wall"], key=lambda phase: line["wall"][phase][last] - median(line["wall"][phase]))
    longer = line["wall"][most][last] - median(line["wall"][most])
    is_late = median(waited) >= NOTABLE * longer > 0
    why = f"its {most} took {longer:.2f} s longer than the median rank's" if is_late else WITH_THE_OTHERS
    return Wait("end", line["ranks"][last], median(waited), max(waited), why)


def _bytes(count: int) -> str:
    return f"{count / 1e6:,.0f} MB"


_MEETINGS = {HANDSHAKE: _at_handshake, READ: _for_reading, BROADCAST: _for_broadcast}
