"""Whether what root has seen of a path will show each change to come, where a job may write to it."""

from .. import time
from .stamps import Mounts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .. import os


class Rest:
    """File systems round times: a change that follows the last too soon leaves the same stamp.

    Made before root looks at anything.
    """

    def __init__(self) -> None:
        self._began = time.time_ns()
        self._mounts = Mounts()

    def shows_changes(self, path: str, status: "os.stat_result | None") -> bool:
        """Tell whether a path, whose ``status`` was seen since, had been left alone long enough.

        Any change then gives it another stamp. One that was not there shows that it has come.
        """
        if status is None:
            return True
        changed = status.st_ctime_ns
        return changed <= self._began - self._mounts.rest_of(path, status.st_dev, changed)
