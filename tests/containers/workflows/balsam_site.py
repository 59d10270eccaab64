"""Makes a site of Balsam as `balsam site init` does, which asks a terminal for what it is to be like.

python balsam_site.py DIRECTORY
"""

import sys
from pathlib import Path
from typing import ClassVar

from balsam.config import site_builder
from balsam.platform.compute_node import DefaultNode

# Jobs are looked for more often, pilots wait less, and jobs may have more ranks than this machine has CPUs.
CHANGES = {
    "sync_period: 10": "sync_period: 1",
    "idle_ttl_sec: 60": "idle_ttl_sec: 10",
    "balsam.platform.compute_node.DefaultNode": "balsam_site.Node",
}


class Node(DefaultNode):  # type: ignore[misc]
    cpu_ids: ClassVar[list[int]] = list(range(8))


if __name__ == "__main__":
    configurations = site_builder.load_default_configs()
    (local,) = [path for path in configurations if path.name == "osx"]
    site_builder.new_site_setup(sys.argv[1], "lab", local, configurations[local])
    settings = Path(sys.argv[1], "settings.yml")
    text = settings.read_text()
    for old, new in CHANGES.items():
        assert old in text, old
        text = text.replace(old, new)
    settings.write_text(text)
