"""Processor time that workers have used when they begin their work, from what was prepared once and plainly."""

import json
from pathlib import Path

import pytest

from lab.ranks import run
from tests.conftest import environment_with

from .prepared import Prepared

# Of what all workers of one kind need plainly.
MOST = 0.35
SECONDS = 900
OWN = """
import json, os, time
import scipy.interpolate
def said(number):
    used = time.process_time()
    restored = os.readlink("/proc/self/exe").endswith("mpiimport-restore")
    return [float(scipy.interpolate.interp1d([0, 2], [0, number])(1)), used, restored]
def tell(workers):
    print(json.dumps([*workers]))
"""
OF_ONE_LAUNCHER = {
    "spawn": """
import numpy, scipy.interpolate
import multiprocessing
import own
def work(number, queue):
    queue.put(own.said(number))
if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    processes = [context.Process(target=work, args=(number, queue)) for number in range(8)]
    for process in processes:
        process.start()
    own.tell(queue.get() for _ in processes)
    for process in processes:
        process.join()
""",
    "loky": """
import numpy, scipy.interpolate
from joblib.externals.loky import get_reusable_executor
import own
def work(number):
    # A worker learns only now what its tasks import.
    import time
    used = time.process_time()
    import own
    value, _, restored = own.said(number)
    return value, used, restored
if __name__ == "__main__":
    with get_reusable_executor(4) as executor:
        own.tell(executor.map(work, range(4)))
""",
    "dask": """
import numpy, scipy.interpolate
from dask.distributed import Client, LocalCluster
import own
if __name__ == "__main__":
    with LocalCluster(n_workers=4, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        own.tell(client.run(own.said, 3).values())
""",
    "torchrun": """
import sys
import torch, numpy, scipy.interpolate
import own
import torch.distributed
said = own.said(3)
torch.distributed.init_process_group("gloo")
gathered = [None] * 4
torch.distributed.all_gather_object(gathered, said)
if torch.distributed.get_rank() == 0:
    own.tell(gathered)
torch.distributed.destroy_process_group()
""",
}
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
