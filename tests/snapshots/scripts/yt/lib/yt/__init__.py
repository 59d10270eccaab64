"""A stand-in for the package of this name."""
import sys
from importlib.metadata import PackageNotFoundError, version

from yt.config import ytcfg
from yt.utilities.logger import ytLogger as mylog
import yt.startup_tasks as __startup_tasks
from yt.data_objects.time_series import DatasetSeries
from yt.data_objects.profiles import create_profile
from yt.utilities.parallel_tools import enable_parallelism, is_root

unparsed_args = __startup_tasks.unparsed_args

try:
    __version__ = version("yt")
except PackageNotFoundError:
    __version__ = "4.4.0"
