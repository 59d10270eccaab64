"""A store that a job has published outlives the job, whichever of its ranks is the last to leave."""

from pathlib import Path

import pytest

from mpiimport.runtime.options import Options, from_environment
from mpiimport.runtime.store.cache import Cache
from mpiimport.runtime.store.cache_placement import CachePlacement

SIZES = {"index": 10, "code": 10}


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Options:
    monkeypatch.setenv("MPIIMPORT_STORE", str(tmp_path))
    return from_environment()


@pytest.mark.parametrize("last", [0, 1])
def test_a_published_store_stays(options: Options, last: int) -> None:
    ranks = first, second = CachePlacement(options), CachePlacement(options)
    own, place = first.reserve(True, SIZES)
    first.join(own, place, SIZES)
    _, made_its_own = second.join(None, place, SIZES)
    assert not made_its_own
    for rank in ranks:
        rank.publish("key", "a program", 0, {})
    ranks[1 - last].leave()
    ranks[last].leave()
    found = Cache.find(options.store_places())
    assert found is not None
    store = found.attach("key")
    assert own is not None and store is not None and store.directory == own.directory


def test_one_that_was_not_published_goes_with_its_job(options: Options, tmp_path: Path) -> None:
    placement = CachePlacement(options)
    placement.reserve(True, SIZES)
    placement.leave()
    assert list(tmp_path.glob("*/stores/*")) == []
