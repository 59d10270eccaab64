"""Libraries that are loaded in front of Python (LD_PRELOAD): an image has what their constructors did in the maker."""

from collections.abc import Mapping
from pathlib import Path

from ..memory_map import Refused
from ..trials import Trials
from . import causes

# ld.so(8)
VARIABLES = ("LD_PRELOAD", "LD_AUDIT")


def refuse_constructors(words: list[str], directory: Path, environment: Mapping[str, str]) -> None:
    """Raise Refused where they ask for what belongs to a process: where Python alone asks for less without them.

    ``words``: the interpreter and its options; ``directory``: for what is written.
    """
    if not any(environment.get(name) for name in VARIABLES):
        return
    without = {name: value for name, value in environment.items() if name not in VARIABLES}
    asked, usual = (_asked(Trials(words, directory, dict(each))) for each in (environment, without))
    more = sorted(observation for observation, times in asked.items() if times > usual.get(observation, 0))
    if more:
        names = " ".join(environment[name] for name in VARIABLES if environment.get(name))
        raise Refused(f"what is loaded in front of Python ({names}) asks for {', '.join(more)}")


def _asked(trials: Trials) -> dict[str, int]:
    trials.causes(())
    return causes.read(trials.log).before
