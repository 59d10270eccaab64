"""Process the frames of a detector, with a log on standard error."""
import logging
import os
import sys
import time
from collections import deque
from logging.handlers import MemoryHandler

import numpy as np
from scipy import ndimage
from skimage import filters, measure

logging.basicConfig(
    level=logging.INFO,
    format="%(levelname)-8s %(name)s [%(funcName)s] %(message)s",
    stream=sys.stderr,
)
logging.getLogger("PIL").setLevel(logging.WARNING)
logger = logging.getLogger("detector")
logger.addHandler(MemoryHandler(100, flushLevel=logging.CRITICAL, target=logging.NullHandler()))

THRESHOLD_SIGMA = 4.0


class Frame:
    def __init__(self, number, shape=(96, 96)):
        rng = np.random.default_rng(number)
        self.number = number
        self.data = rng.normal(100, 2, shape)
        for x, y in rng.integers(8, 88, (3 + number, 2)):
            self.data[x - 2 : x + 3, y - 2 : y + 3] += 60


def find_spots(frame):
    smooth = ndimage.gaussian_filter(frame.data, 1.0)
    background = ndimage.median_filter(smooth, 15)
    signal = smooth - background
    mask = signal > max(filters.threshold_otsu(signal), THRESHOLD_SIGMA)
    regions = measure.regionprops(measure.label(mask), intensity_image=signal)
    logger.info("frame %d: %d spots", frame.number, len(regions))
    if len(regions) > 7:
        logger.warning("frame %d is crowded", frame.number)
    return [(round(r.centroid[0], 1), round(r.centroid[1], 1)) for r in regions]


def main():
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    started = time.perf_counter()
    queue = deque(range(comm.rank, 6, comm.size))
    found = {}
    while queue:
        frame = Frame(queue.popleft())
        found[frame.number] = find_spots(frame)
    logging.debug("took %.3f s", time.perf_counter() - started)
    everything = comm.gather(found)
    if comm.rank == 0:
        for number, spots in sorted(item for part in everything for item in part.items()):
            print(number, len(spots), spots[:2])
        logger.info("done in process %s", "known" if os.getpid() else "unknown")


if __name__ == "__main__":
    main()
