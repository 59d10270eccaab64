# This handles the command line.
import argparse
import sys

from yt.config import ytcfg
from yt.utilities.logger import ytLogger as mylog

exe_name = sys.executable.rpartition("/")[2]

parser = argparse.ArgumentParser(description="yt command line arguments", add_help=False)
parser.add_argument("--loglevel", type=int, default=None)
parser.add_argument("--parallel", action="store_true")
opts, unparsed_args = parser.parse_known_args()
if opts.loglevel is not None:
    mylog.setLevel(opts.loglevel)
