"""Dask: tasks of a client, for a cluster that `dask-mpi` has started.

python dask_tasks.py SCHEDULER_FILE
"""

import sys

from distributed import Client


def loader() -> str:
    import numpy

    return type(numpy.__loader__).__name__


def share(start: int, step: int) -> int:
    import numpy as np

    return int(np.arange(start, 2000, step).sum())


if __name__ == "__main__":
    with Client(scheduler_file=sys.argv[1]) as client:
        client.wait_for_workers(3)
        print("sum:", sum(client.gather(client.map(share, range(3), step=3))))
        print(sorted(client.run(loader).values()))
        client.shutdown()
