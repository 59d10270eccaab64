"""Packages that people use are in an image, compute what they compute plainly, and share no random numbers or keys."""

import ast
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.ranks import Outcome
from tests.conftest import interpreter
from tests.texts import Text, parameters, read

from .baked import PROGRAMS, Baked, reach

# Imports, what is the same in every process, and what is another in each; and the list of packages that has it.
PACKAGES = read(PROGRAMS / "packages.txt")


@pytest.mark.parametrize("name", parameters(PACKAGES))
def test_what_is_a_processs_own_is_its_own(request: pytest.FixtureRequest, name: str) -> None:
    """In process number namespaces, too, where all ranks may have the same number."""
    kind = {"everyday": "baked", "torch": "baked_with_torch", "corpus": "baked_with_corpus"}
    fixture = kind.get("".join(PACKAGES[name].traits), "baked_with_packages")
    expect_own(request.getfixturevalue(fixture), PACKAGES[name])


@pytest.mark.full
def test_keys_and_random_numbers_with_a_newer_c_library(baked_with: Callable[[str], Baked]) -> None:
    """That of this Python takes random numbers without a system call."""
    expect_own(baked_with(str(interpreter("3.14"))), PACKAGES["standard library"])


def expect_own(baked: Baked, program: Text) -> None:
    """Expect that what is the same is the same, and that nothing else is, plainly and in three starts."""
    script = baked.script(f"{program}print(({program.further['alike']},))\nprint(({program.further['own']},))")
    said = baked.bake(script)
    assert f"ends before line {len(program.text.splitlines()) + 1}, " in said, said
    before = ("unshare", "--pid", "--fork") if os.geteuid() == 0 else ()
    outcomes = [baked.plain(script), *(baked.start(script, before=before) for _ in range(3))]
    assert all(not outcome.stderr and outcome.status == 0 for outcome in outcomes), outcomes
    lines = [outcome.stdout.splitlines() for outcome in outcomes]
    assert len({line[0] for line in lines}) == 1
    columns = zip(*(ast.literal_eval(line[1]) for line in lines), strict=True)
    assert all(len({*column}) == len(lines) for column in columns), lines


DRAW = """
import pyarrow
import ctypes, sys
library = pyarrow.__path__[0] + "/libarrow.so"
base = min(int(line.split("-")[0], 16) for line in open("/proc/self/maps") if library in line)
draw = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int)(base + int(sys.argv[1], 16))
place = ctypes.create_string_buffer(16)
assert draw(place, 16) == 1
print(place.raw.hex())
frame = sys._getframe()
while frame is not None and "start" not in frame.f_locals:
    frame = frame.f_back
print(*(frame.f_locals["start"].numbers if frame else ()))
"""


@pytest.mark.full
def test_a_library_of_openssl_that_has_a_seed_takes_another_one(baked_with_corpus: Baked) -> None:
    """Where the number of the process is another one. Where it is the maker's, there would be the same numbers."""
    if os.geteuid():
        pytest.skip("a process with a given number needs a namespace of its own")
    baked = baked_with_corpus
    (library,) = Path(baked.python).parent.parent.glob("lib/*/site-packages/pyarrow/libarrow.so.*")
    symbols = subprocess.run(["nm", library], capture_output=True, text=True, check=True, timeout=60).stdout
    (address,) = (line.split()[0] for line in symbols.splitlines() if line.endswith(" RAND_bytes"))
    script = baked.script(DRAW)

    def draw(number: int) -> Outcome:
        shell = f'echo {number - 1} >/proc/sys/kernel/ns_last_pid; "$@"; :'
        apart = ("unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", shell, "sh")
        return baked.start(script, address, before=apart, MPIIMPORT_VERBOSE="1")

    baked.bake(script)
    first, numbers = baked.start_restored(script, address).stdout.splitlines()
    own = [draw(99), draw(99), draw(999)]
    assert not any("is not used" in outcome.stderr for outcome in own)
    assert len({first, *(outcome.stdout.partition("\n")[0] for outcome in own)}) == len(own) + 1
    assert all("as the maker had" in draw(int(number)).stderr for number in numbers.split())
    baked.bake(script, "--without", "another_number")
    numbers = baked.start_restored(script, address).stdout.splitlines()[1]
    same = [draw(int(number)).stdout for number in numbers.split()[:1] for _ in range(2)]
    assert same[0] == same[1]


@pytest.mark.full
def test_torch_computes_what_it_computes_plainly(baked_with_torch: Baked) -> None:
    """With children, threads, and on as many processors as it may use."""
    (program,) = read(PROGRAMS / "torch.txt").values()
    script = baked_with_torch.script(str(program))
    assert "the program's main part" in reach(baked_with_torch.bake(script))
    plain, started = baked_with_torch.plain(script), baked_with_torch.start_restored(script)
    assert plain.status == 0 and started == plain
    one = str(min(os.sched_getaffinity(0)))
    bound = baked_with_torch.start_fresh("number of processors", script, before=("taskset", "-c", one))
    assert "[(1, 27000000.0), (1, 27000000.0)]" in bound.stdout
