"""The node of a site of Balsam, in whose directory this file lies."""

from typing import ClassVar

from balsam.platform.compute_node import DefaultNode


class Node(DefaultNode):  # type: ignore[misc]
    """Jobs may have more ranks than this machine has CPUs."""

    cpu_ids: ClassVar[list[int]] = list(range(8))
