"""Extension modules are mapped from the store, whichever loader loads them: no file is mapped a second time."""

import _imp
from _frozen_importlib import ModuleSpec

from ..machinery import as_importlib, call_with_frames_removed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def redirect_extensions(
    map_library: "Callable[[str], bool]", trace: "Callable[[str, bool], None]", known_path: "Callable[[str], str]"
) -> None:
    """Have ``map_library`` map each extension module's file before the interpreter does; tell ``trace`` of it.

    ``known_path``: returns the path by which ld.so knows the file then.
    """
    create: Any = _imp.create_dynamic

    @as_importlib
    def create_dynamic(spec: ModuleSpec, *file: "Any") -> "Any":
        original = str(spec.origin)
        trace(spec.name, map_library(original))
        known = known_path(original)
        if known == original:
            return call_with_frames_removed(create, spec, *file)
        # ld.so knows a copy by one path alone.
        module = call_with_frames_removed(create, ModuleSpec(spec.name, spec.loader, origin=known))
        module.__file__ = original
        return module

    _imp.create_dynamic = create_dynamic
