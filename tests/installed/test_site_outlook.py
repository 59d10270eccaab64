"""What is expected of ``site`` before it has run is what it says afterwards, in every Python."""

import subprocess
from pathlib import Path

import pytest

from lab.ranks import clean_environment
from tests.conftest import ROOT

SAID = "[sys.prefix, bool(site.ENABLE_USER_SITE), sys.base_exec_prefix in site.PREFIXES, site.USER_BASE, found]"
PLAIN = f"""
import site, sys
sys.path.insert(0, {str(ROOT)!r})
from mpiimport.runtime.mpi import site_outlook
found = list(site_outlook.prefixes(before_site=False))
print({SAID})
"""
EARLY = f"""
import site, sys
sys.path.insert(0, {str(ROOT)!r})
from mpiimport.runtime.mpi import site_outlook
sys.prefix = sys.exec_prefix = site_outlook.environment_prefix()
found = list(site_outlook.prefixes(before_site=True))
site.ENABLE_USER_SITE, site.PREFIXES = site_outlook.user_site_and_prefixes()
site.getuserbase()
print({SAID})
"""


def environment(directory: Path, python: Path, settings: str) -> Path:
    """The Python of a virtual environment that is configured so; ``python`` itself for no settings."""
    if not settings:
        return python
    link = directory / "bin" / "python"
    link.parent.mkdir()
    link.symlink_to(python)
    (directory / "pyvenv.cfg").write_text(f"home = {python.parent}\n{settings}\n")
    return link


def output(python: Path, *words: str) -> str:
    variables = clean_environment(PYTHONDONTWRITEBYTECODE="1", PYTHONUSERBASE="/somewhere/else")
    return subprocess.run([python, *words], check=True, env=variables, stdout=subprocess.PIPE, text=True).stdout


@pytest.mark.parametrize("flags", [[], ["-s"]], ids=["", "-s"])
@pytest.mark.parametrize(
    "settings",
    ["", "include-system-site-packages = false", "Include-System-Site-Packages =True", "version = 3"],
    ids=["no environment", "closed", "open", "not said"],
)
def test_prefixes_and_user_site(tmp_path: Path, python: Path, settings: str, flags: list[str]) -> None:
    chosen = environment(tmp_path, python, settings)
    assert output(chosen, *flags, "-S", "-c", EARLY) == output(chosen, *flags, "-c", PLAIN)


def test_a_python_that_never_runs_site_has_no_prefixes(python: Path) -> None:
    text = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from mpiimport.runtime.mpi import site_outlook"
    assert output(python, "-S", "-c", f"{text}; print(*site_outlook.prefixes(before_site=False))") == "\n"
