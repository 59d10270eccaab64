"""Processor time that workers have used when they begin their work, from what was prepared once and plainly."""

import json
from pathlib import Path

import pytest

from lab.ranks import run
from tests.conftest import environment_with
from tests.texts import read

from .baked import PROGRAMS
from .prepared import Prepared

# Of what all workers of one kind need plainly.
MOST = 0.35
SECONDS = 900
OF_ONE_LAUNCHER = {name: text.text for name, text in read(PROGRAMS / "start_of_workers.txt").items()}
OWN = OF_ONE_LAUNCHER.pop("own")


ENVIRONMENT = {"spawn": "baked_with_packages", "torchrun": "baked_with_torch"}


@pytest.mark.full
@pytest.mark.parametrize("kind", OF_ONE_LAUNCHER)
def test_workers_need_a_third_of_plain_after_one_preparation(
    kind: str, prefix: Path, request: pytest.FixtureRequest
) -> None:
    baked = request.getfixturevalue(ENVIRONMENT.get(kind, "baked_with_corpus"))
    prepared = Prepared(prefix, baked)
    baked.script(OWN, "own.py")
    program = [baked.python, baked.script(OF_ONE_LAUNCHER[kind])]
    if kind == "torchrun":
        # That environment has none.
        for name in ("scipy", "scipy.libs"):
            found = next(environment_with("snapshot_packages").parents[1].glob(f"lib/*/site-packages/{name}"))
            (baked.modules / name).symlink_to(found)
        baked.install()
        program = [str(Path(baked.python).with_name("torchrun")), "--nproc-per-node", "4", program[1]]
    options = [] if kind == "torchrun" else ["--run"]
    made = run(prepared.command(*options, *program), prepared.environment(), SECONDS, prepared.directory)
    assert made.status == 0, made
    figures = {}
    for way, words in (("plain", []), ("prepared", [prepared.mpiimport, "run", "--"])):
        outcome = run([*words, *program], prepared.environment(), SECONDS, prepared.directory)
        assert outcome.status == 0, outcome
        values, used, restored = zip(*json.loads(outcome.stdout), strict=True)
        assert {*restored} == {way == "prepared"}, (outcome, made)
        figures[way] = sorted(values), sum(used)
    assert figures["plain"][0] == figures["prepared"][0]
    print(f"{kind}: {len(used)} workers, seconds of CPU:", {way: round(cpu, 2) for way, (_, cpu) in figures.items()})
    assert figures["prepared"][1] <= MOST * figures["plain"][1], figures
