"""What tells a program from the nearest one that has a cached store, for people.

facts   in a store: what its key is made of, see ``key.facts_of``
"""

import marshal

from .. import open, os
from ..regular_file import read_regular
from .cache import PROGRAMS, Cache

FACTS = "facts"
# Characters of a value that is shown.
LONGEST = 200


def write_facts(store: str, facts: "dict[str, list[str]]") -> None:
    """Raises OSError."""
    with open(os.path.join(store, FACTS), "wb") as stream:
        stream.write(marshal.dumps(facts))


def difference(place: Cache, facts: "dict[str, list[str]]") -> str:
    """Return what the nearest store of a place is for instead, as the end of a sentence; empty where there is none."""
    found = map(_facts_in, map(place.target, place.names(PROGRAMS)))
    others = [other for other in found if other.keys() == facts.keys()]
    if not others:
        return ""
    other = min(others, key=lambda other: sum(facts[name] != other[name] for name in facts))
    told = [_told(name, other[name], facts[name]) for name in facts if facts[name] != other[name]]
    return ": the nearest one has " + ", and ".join(told) if told else ""


def _told(name: str, theirs: list[str], ours: list[str]) -> str:
    more, less = [word for word in theirs if word not in ours], [word for word in ours if word not in theirs]
    if len(theirs) == len(ours) == 1:
        return f"{name} {_shown(theirs)}, not {_shown(ours)}"
    parts = [f"{word} {_shown(words)}" for word, words in (("with", more), ("without", less)) if words]
    return f"another {name}, " + " and ".join(parts or ["in another order"])


def _shown(words: list[str]) -> str:
    text = ascii(", ".join(words))
    return text if len(text) <= LONGEST else text[:LONGEST] + "..."


def _facts_in(store: str) -> "dict[str, list[str]]":
    try:
        facts: dict[str, list[str]] = marshal.loads(read_regular(os.path.join(store, FACTS)))
    except (OSError, ValueError, EOFError, TypeError):
        return {}
    return facts if isinstance(facts, dict) else {}
