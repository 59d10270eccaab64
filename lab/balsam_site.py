"""Makes a site of Balsam as `balsam site init` does, which asks a terminal for what it is to be like.

python balsam_site.py DIRECTORY NODE
"""

import sys
from pathlib import Path

from balsam.config import site_builder

# Jobs are looked for more often, and pilots wait less.
CHANGES = {
    "sync_period: 10": "sync_period: 1",
    "idle_ttl_sec: 60": "idle_ttl_sec: 10",
    "balsam.platform.compute_node.DefaultNode": sys.argv[2],
}


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
