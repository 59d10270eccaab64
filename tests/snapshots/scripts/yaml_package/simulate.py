"""Predator and prey, as configured in ecosim/defaults.yaml."""
import argparse

import numpy as np
from scipy.integrate import odeint

import ecosim
from ecosim import config
from ecosim.models import build

from mpi4py import MPI


def get_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-s", "--set", action="append", default=[], metavar="KEY=VALUE")
    return parser.parse_args()


def main():
    comm = MPI.COMM_WORLD
    for item in get_args().set:
        key, _, value = item.partition("=")
        config.override(key, value)
    model = build(config.get("model.kind"))
    t = np.linspace(0, config.get("run.duration"), config.get("run.samples"))
    start = np.array(config.get("run.start"), float) * (1 + 0.1 * comm.rank)
    prey, predators = odeint(model.rhs, start, t).T
    result = comm.gather((prey.max(), predators.max(), prey[-1]))
    if comm.rank == 0:
        print("ecosim", ecosim.__version__, ecosim.CONFIG_FILE.rpartition("/")[2], model)
        for rank, row in enumerate(result):
            print(rank, *(f"{value:.4f}" for value in row))


if __name__ == "__main__":
    main()
