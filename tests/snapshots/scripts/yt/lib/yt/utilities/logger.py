import logging
import sys

from yt.config import ytcfg

ytLogger = logging.getLogger("yt")
_level = min(max(ytcfg.getint("yt", "loglevel"), 0), 50)
yt_sh = logging.StreamHandler(stream=sys.stderr)
yt_sh.setFormatter(logging.Formatter("%(name)-3s: [%(levelname)-9s] %(asctime)s %(message)s"))
ytLogger.addHandler(yt_sh)
ytLogger.setLevel(_level)
ytLogger.propagate = False
