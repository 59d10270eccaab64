"""Each reinitialiser makes a difference: what it makes new is new with it, and old without it."""

import os
import time
from pathlib import PurePath

import pytest

from lab.ranks import run
from mpiimport.snapshot.restore.reinitialisers import REINITIALISERS
from tests.texts import parameters, read

from .baked import NOT_USED, PROGRAMS, Baked, reach, shared_library

pytestmark = pytest.mark.usefixtures("installed")

OBSERVED = read(PROGRAMS / "reinitialisers.txt")
ENVIRONMENTS = {"packages": "baked_with_packages", "corpus": "baked_with_corpus"}
NUMBERS = "another_number"
# What dask has derived from it stays, so the program starts plainly.
REMEDY_REFUSES = "dask has counted"


def lay_out(baked: Baked, name: str) -> str:
    """Write the modules that stand in the place of packages' own, and return the script."""
    for file, text in OBSERVED[name].further.items():
        if file.endswith(".py"):
            baked.module(file.removesuffix(".py"), text)
            for parent in PurePath(file).parents[:-1]:
                (baked.modules / parent / "__init__.py").touch()
    return baked.script(str(OBSERVED[name]))


def is_new(baked: Baked, name: str, *options: str) -> bool:
    """Make a snapshot, and start from it: whether what a reinitialiser makes new is new."""
    traits, further = OBSERVED[name].traits, {key: text.strip() for key, text in OBSERVED[name].further.items()}
    script, variables, before = lay_out(baked, name), dict[str, str](), further.get("before", "")
    shell: tuple[str, ...] = ("sh", "-c", f'{before}; exec "$@"', "sh") if before else ()
    if "apart" in further:
        shell = ("unshare", further["apart"], *shell)
    if "year" in traits:
        shell = ("nice", "-n", "5")
        variables = {"LD_PRELOAD": str(shared_library("clock.c", baked.modules.parent)), "TZ": "Europe/Moscow"}
    baked.bake(script, *options, **variables)
    if name == NUMBERS:
        return all(refuses_the_number(baked, script, int(each)) for each in baked.start_restored(script).stdout.split())
    if "differs" in traits:
        return baked.start_restored(script).stdout != baked.start_restored(script).stdout
    if "later" in traits:
        time.sleep(3)
    if "refuses" in further:
        variables["MPIIMPORT_VERBOSE"] = "1"
    variables |= dict(line.split("=") for line in further.get("variables", "").splitlines())
    outcome = baked.start(script, *further.get("words", "").split(), before=shell, **variables)
    if "refuses" in further:
        return further["refuses"] in outcome.stderr
    assert outcome.status == 0, outcome
    assert NOT_USED not in outcome.stderr or REMEDY_REFUSES in outcome.stderr, outcome
    return outcome.stdout == "True\n"


def refuses_the_number(baked: Baked, script: str, number: int) -> bool:
    """Whether a process with a number of the maker's starts plainly: in a namespace, where any number is free."""
    shell = f'echo {number - 1} >/proc/sys/kernel/ns_last_pid; "$@"; :'
    apart = ("unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", shell, "sh")
    return f"has the number {number}" in baked.start(script, before=apart, MPIIMPORT_VERBOSE="1").stderr


def test_every_remedy_is_observed() -> None:
    assert set(OBSERVED) == set(REINITIALISERS)


@pytest.mark.parametrize("name", parameters(OBSERVED))
def test_what_a_remedy_makes_new_is_old_without_it(request: pytest.FixtureRequest, name: str) -> None:
    kinds = [ENVIRONMENTS[trait] for trait in OBSERVED[name].traits if trait in ENVIRONMENTS]
    baked: Baked = request.getfixturevalue("".join(kinds) or "baked")
    if ("apart" in OBSERVED[name].further or name == NUMBERS) and os.geteuid():
        pytest.skip("a shell in a namespace of its own needs root")
    assert is_new(baked, name)
    assert not is_new(baked, name, "--without", name)


@pytest.mark.full
def test_children_close_as_many_files_as_may_be_open(baked: Baked) -> None:
    script = baked.script("import multiprocessing.util\nprint(multiprocessing.util.MAXFD)")
    baked.bake(script)
    limit = ("sh", "-c", 'ulimit -n 99; exec "$@"', "sh")
    assert baked.start(script, before=limit).stdout == "99\n"


def test_generators_of_classes_are_seeded(baked: Baked) -> None:
    text = "class A:\n    own = random.Random()\nkept = {'one': random.Random()}\n"
    baked.module(
        "plant",
        f"import random, types\n{text}shown = types.MappingProxyType({{'two': random.Random()}})\n"
        "def given(own=random.Random(), *, other=random.Random()): return own.random(), other.random()",
    )
    baked.module("address", "import random\nSEEDED = random.Random(id(random.Random(1)))")
    numbers = "plant.A.own.random(), plant.kept['one'].random(), plant.shown['two'].random(), *plant.given(), "
    numbers += "address.SEEDED.random()"
    script = baked.script(f"import plant, address\nprint({numbers})")
    assert "it prints" in reach(baked.bake(script))
    assert not {*baked.start_restored(script).stdout.split()} & {*baked.start_restored(script).stdout.split()}


def test_a_signal_that_the_maker_ignores_is_none_of_the_image(baked: Baked) -> None:
    script = baked.script("import signal\nprint(int(signal.getsignal(10)))")
    command = ["sh", "-c", "trap '' USR1; exec \"$@\"", "sh", *baked.bake_command(script)]
    assert run(command, baked.environment(), 120).status == 0
    assert baked.start_restored(script).stdout == baked.plain(script).stdout == "0\n"


def test_seeds_of_hash_tables_are_those_of_the_image_unless_they_are_to_be_fresh(baked: Baked) -> None:
    """As Rust's library asks for them. Other sizes, and other flags, are no such seeds."""
    for draw in ("os.getrandom(32, 4)", "os.getrandom(16)", "os.urandom(16)"):
        said = baked.bake(baked.script(f"import os\n{draw}\nprint(1)"))
        assert f"ends before line 2, `{draw}`: it asks for entropy" in said
    script = baked.script("import os\nos.getrandom(16, 4)\nprint(1)")
    assert "ends before line 3" in baked.bake(script)
    assert baked.start_restored(script).stdout == "1\n"
    start = baked.start_fresh("MPIIMPORT_SNAPSHOT_HASH_SEEDS", script, MPIIMPORT_SNAPSHOT_HASH_SEEDS="fresh")
    assert start.stdout == "1\n"
    said = baked.bake(script, MPIIMPORT_SNAPSHOT_HASH_SEEDS="fresh")
    assert "ends before line 2, `os.getrandom(16, 4)`: it asks for seeds of hash tables" in said
