"""Hatch build hook: the tag of a wheel that brings static binaries of one architecture."""

import platform
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# The binaries link to nothing, so any Linux will do; pip asks for some baseline.
BASELINE = "manylinux_2_17"


class PlatformWheel(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Refuses to make a wheel of what is not laid out. ``version``: standard or editable."""
        if version == "standard" and not Path(self.root, "build", "wheel", "mpiimport.pth").exists():
            raise FileNotFoundError("a wheel needs the Go binaries, laid out in build/wheel: run `make wheel`")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{BASELINE}_{platform.machine()}"
