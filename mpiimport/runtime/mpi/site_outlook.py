"""What ``site`` will say of prefixes and directories, before it has run."""

import sys

from .. import open, os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

CONFIGURATION = "pyvenv.cfg"


def environment_prefix() -> str:
    """Return what ``sys.prefix`` will be: a virtual environment's own directory."""
    directory = os.path.dirname(sys.executable)
    environment = os.path.dirname(directory)
    if sys.version_info < (3, 11):
        # Only site looks for it there.
        is_one = bool(_configuration())
    else:
        is_one = sys._base_executable != sys.executable  # type: ignore[attr-defined]
    return environment if is_one and sys.prefix == sys.base_prefix else sys.prefix


def site_packages(prefix: str) -> list[str]:
    """Return the directories of ``prefix`` that ``site.main()`` adds to ``sys.path``."""
    import site

    return site.getsitepackages([prefix])


def user_site_and_prefixes() -> tuple[bool | None, list[str]]:
    """Return what ``site.ENABLE_USER_SITE`` and, in some order, ``site.PREFIXES`` will be."""
    import site

    environment = environment_prefix()
    if environment != sys.base_prefix and not _includes_system():
        return False, [environment]
    return site.check_enableusersite(), list({environment, sys.base_prefix, sys.base_exec_prefix})


def prefixes(before_site: bool) -> "Iterator[str]":
    """Yield the prefixes in which packages may be installed, the environment's first; none where ``site`` never runs.

    ``before_site``: it has still to run, and ``sys.prefix`` is what it will be.
    """
    site: Any = sys.modules.get("site")
    if site is None:
        return
    if sys.exec_prefix != sys.base_exec_prefix:
        yield sys.exec_prefix
    user_site, of_site = site.ENABLE_USER_SITE, site.PREFIXES
    if before_site:
        user_site, of_site = user_site_and_prefixes()
    if user_site:
        yield os.path.abspath(site.getuserbase())
    if sys.base_exec_prefix in of_site:
        yield sys.base_exec_prefix


def _configuration() -> str:
    """Return the file that makes a directory a virtual environment; empty where there is none."""
    directory = os.path.dirname(os.path.abspath(sys.executable))
    places = [os.path.join(place, CONFIGURATION) for place in (directory, os.path.dirname(directory))]
    return next(filter(os.path.isfile, places), "")


def _includes_system() -> bool:
    """Tell whether the virtual environment was made with ``--system-site-packages``."""
    value, file = "true", _configuration()
    if not file:
        return True
    with open(file, encoding="utf-8") as stream:
        for line in stream:
            key, equals, text = line.partition("=")
            if equals and key.strip().lower() == "include-system-site-packages":
                value = text.strip().lower()
    return value == "true"
