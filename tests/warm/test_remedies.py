"""Each remedy makes a difference: what it makes new is new with it, and old without it."""

import os
import time
from collections.abc import Callable

import pytest

from lab.ranks import run
from mpiimport.warm.remedies import REMEDIES

from .conftest import Warm

Bake = Callable[[str], str]
Observe = Callable[[Warm, Bake], bool]


def differs_between_starts(text: str) -> Observe:
    def observe(warm: Warm, bake: Bake) -> bool:
        script = bake(text)
        return warm.start_warm(script).stdout != warm.start_warm(script).stdout

    return observe


def says_true(text: str, *words: str, before: str = "", later: bool = False, **environment: str) -> Observe:
    """``before``: what a shell does before it becomes the starter; ``later``: seconds after the image was made."""

    def observe(warm: Warm, bake: Bake) -> bool:
        script = bake(text)
        if later:
            time.sleep(3)
        shell = ("unshare", "-u", "sh", "-c", f'{before}; exec "$@"', "sh") if before else ()
        outcome = warm.start(script, *words, before=shell, **environment)
        assert outcome.status == 0 and "the image is not used" not in outcome.stderr, outcome
        return outcome.stdout == "True\n"

    return observe


RECENT = "import time, {0}; print(abs({1} - time.time()) < 2)"
OBSERVED = {
    "environment": says_true("import os; print(os.environ.get('NEW') == '1')", NEW="1"),
    "after_fork": differs_between_starts("import random; print(random.random())"),
    "native_id": says_true("import os, threading; print(threading.main_thread().native_id == os.getpid())"),
    "command_line": says_true("import sys; print(sys.argv[1:] == ['x'] and sys.orig_argv[-1] == 'x')", "x"),
    "streams": says_true("import sys; print(sys.stdin is None)", before="exec <&-"),
    "signals": says_true("import signal; print(signal.getsignal(10) == signal.SIG_IGN)", before="trap '' USR1"),
    "numpy": differs_between_starts("import numpy.random; print(numpy.random.rand())"),
    "f2py": says_true(RECENT.format("numpy.f2py.rules", "numpy.f2py.rules.generationtime"), later=True),
    "generators": differs_between_starts("import plant; print(plant.GENERATOR.random(), plant.ARRAYS.random())"),
    "logging": says_true(RECENT.format("logging", "logging._startTime"), later=True),
    "platform": says_true("import uuid, platform; print(platform.node() == 'other')", before="hostname other"),
    "multiprocessing": differs_between_starts(
        "import multiprocessing.process as p; print(bytes(p.current_process().authkey))"
    ),
}
# Those with `before`, which is done in a namespace of host names of its own.
NEEDS_ROOT = {"platform", "signals", "streams"}


def test_every_remedy_is_observed() -> None:
    assert set(OBSERVED) == set(REMEDIES)


@pytest.mark.parametrize("name", OBSERVED)
def test_what_a_remedy_makes_new_is_old_without_it(warm: Warm, name: str) -> None:
    if name in NEEDS_ROOT and os.geteuid():
        pytest.skip("a shell in a namespace of its own needs root")
    warm.module("plant", "import random, numpy\nGENERATOR = random.Random()\nARRAYS = numpy.random.default_rng()")
    observe = OBSERVED[name]

    def bake(*options: str) -> Bake:
        def make(text: str) -> str:
            script = warm.script(text)
            said = warm.bake(script, *options)
            assert "left out" not in said, said
            return script

        return make

    assert observe(warm, bake())
    assert not observe(warm, bake("--without", name))


def test_a_signal_that_the_maker_ignores_is_none_of_the_image(warm: Warm) -> None:
    script = warm.script("import signal\nprint(int(signal.getsignal(10)))")
    command = ["sh", "-c", "trap '' USR1; exec \"$@\"", "sh", *warm.bake_command(script)]
    assert run(command, warm.environment(), 120).status == 0
    assert warm.start_warm(script).stdout == warm.plain(script).stdout == "0\n"
