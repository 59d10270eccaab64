"""What a site installs."""

import tarfile
from pathlib import Path

import pytest

from tests.conftest import ROOT


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What people download, unpacked."""
    (tarball,) = (ROOT / "build" / "dist").glob("mpiimport-*.tar.gz")
    directory = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(tarball) as archive:
        archive.extractall(directory, filter="tar")
    (release,) = directory.iterdir()
    return release
