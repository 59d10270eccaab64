"""Who draws from the generators of random numbers that each process seeds anew, in the audit's interpreter.

That variation runs come out alike says little of a module that has drawn one number of two.
"""

import sys
from _functools import partial  # type: ignore[import-not-found]

from .observer import DRAWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .observer import Observer


GENERATORS = {"random", "numpy.random.mtrand"}


def _of_python(generator: "Any") -> "Any":
    return generator.getstate()


def _of_numpy(generator: "Any") -> "Any":
    kind, key, *rest = generator.get_state()
    return kind, key.tobytes(), rest


class Drawing:
    """Looks whenever a module begins or ends, or the script: what is executed between has drawn."""

    def __init__(self, observer: "Observer") -> None:
        self._observer = observer
        # Generators, what returns their state as something to compare, and what it was.
        self._watched: list[tuple[Any, Callable[[Any], Any], Any]] = []

    def watch(self) -> None:
        """Begin to look."""
        self._observer.begins.append(lambda name: self._look())
        self._observer.is_over.append(self._end)
        self._observer.looks.append(self._look)

    def _end(self) -> None:
        self._look()
        name = self._observer.stack[-1]
        # Of C there is no module yet when it has been created.
        names = getattr(sys.modules.get(name), "__dict__", {}) if name in GENERATORS else {}
        if name == "random" and "_inst" in names:
            self._add(names["_inst"], _of_python)
            kind: Any = names["Random"]
            kind.seed = self._seeding(kind.seed, _of_python)
            names["seed"] = partial(kind.seed, names["_inst"])
        elif "_rand" in names:
            self._add(names["_rand"], _of_numpy)
            names["seed"] = partial(self._seeding(type(names["_rand"]).seed, _of_numpy), names["_rand"])

    def _seeding(self, seed: "Any", state_of: "Callable[[Any], Any]") -> "Callable[..., None]":
        """Return what seeds a generator. One that the system gives a seed is watched, and one with another is not."""

        def seeded(generator: "Any", *given: "Any", **named: "Any") -> None:
            self._look()
            seed(generator, *given, **named)
            self._watched = [each for each in self._watched if each[0] is not generator]
            if not (given and given[0] is not None) and not named:
                self._add(generator, state_of)

        return seeded

    def _add(self, generator: "Any", state_of: "Callable[[Any], Any]") -> None:
        self._watched.append((generator, state_of, state_of(generator)))

    def _look(self) -> None:
        """Note what has drawn since this was last called."""
        for number, (generator, state_of, before) in enumerate(self._watched):
            now = state_of(generator)
            if now != before:
                self._observer.note(DRAWN)
                self._watched[number] = generator, state_of, now
