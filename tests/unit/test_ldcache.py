"""The cache of ld.so is read as ldconfig prints it."""

import re
import shutil
import subprocess
from pathlib import Path

from mpiimport.runtime.payload.ldcache import cached_libraries


def test_the_cache_is_what_ldconfig_prints() -> None:
    ldconfig = shutil.which("ldconfig", path="/sbin:/usr/sbin") or "/sbin/ldconfig"
    printed = subprocess.run([ldconfig, "-p"], stdout=subprocess.PIPE, text=True, check=True).stdout
    expected: dict[str, list[str]] = {}
    for match in re.finditer(r"^\t(\S+) \(.*\) => (\S+)$", printed, re.MULTILINE):
        expected.setdefault(match[1], []).append(match[2])
    assert len(expected) > 10
    assert cached_libraries() == expected


def test_no_cache_is_an_empty_one(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"something else")
    assert cached_libraries(str(tmp_path / "none")) == cached_libraries(str(other)) == {}
