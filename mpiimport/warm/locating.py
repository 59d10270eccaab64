"""Where a module lies that runs as a program: ``python [options] locating.py OUTPUT NAME``.

OUTPUT gets what marshal writes: a list of (name, path, whether it is a source file), of the packages above the module,
from the top, and of the module itself, which is ``__main__`` where NAME is a package. None of them is executed. What
is not found, or has nothing below, ends the list.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import SourceFileLoader

Found = tuple[str, str, bool]


def locate(name: str) -> list[Found]:
    """Return what OUTPUT gets."""
    import importlib._bootstrap as bootstrap
    from importlib.machinery import SourceFileLoader

    found: list[Found] = []
    path, names = None, name.split(".")
    for count in range(1, len(names) + 2):
        if count > len(names):
            names.append("__main__")
        full = ".".join(names[:count])
        spec = bootstrap._find_spec(full, path)  # type: ignore[attr-defined]
        if spec is None:
            break
        is_source = type(spec.loader) is SourceFileLoader and spec.has_location and spec.origin.endswith(".py")
        found.append((full, spec.origin or "", is_source))
        if spec.submodule_search_locations is not None and not is_source:
            # A namespace can only be searched once it is imported.
            break
        path = spec.submodule_search_locations
        if path is None:
            if is_source:
                _compile(spec.loader, full)
            break
    return found


def _compile(loader: "SourceFileLoader", name: str) -> None:
    """Have the bytecode of the module written, as the first run would, which changes its directory."""
    try:
        loader.get_code(name)
    except (SyntaxError, ValueError, OSError):
        pass


if __name__ == "__main__":
    import marshal
    import os

    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        # As Python finds what -m names.
        sys.path[0] = os.getcwd()
    with open(sys.argv[1], "wb") as stream:
        marshal.dump(locate(sys.argv[2]), stream)
