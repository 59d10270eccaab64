"""The place of cached stores: whoever comes gets a complete store at once or none, and none is removed that is used."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from mpiimport.runtime.options import Options, switched_off
from mpiimport.runtime.size import Size
from mpiimport.runtime.store import cache as place_module
from mpiimport.runtime.store import cache_removal
from mpiimport.runtime.store.cache import FILLING, LEASE, PROGRAMS, STORES, Cache
from mpiimport.runtime.store.cache_names import BATCH_JOBS, batch_job
from mpiimport.runtime.store.cache_removal import remove_cache
from mpiimport.runtime.store.image_caches import IMAGES
from mpiimport.runtime.store.lock import LOCK
from mpiimport.runtime.store.objects import OBJECTS, share
from mpiimport.runtime.store.store import PROGRAM, SEAL, NoRoom, Store
from tests.conftest import ROOT

KEY, OTHER = "0123456789abcdef", "fedcba9876543210"
OTHER_USER = 65534


def lead_elsewhere(directory: Path) -> None:
    directory.rename(directory.with_name("elsewhere"))
    directory.symlink_to("elsewhere")


def give_away(directory: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files to another user")
    os.chown(directory, OTHER_USER, OTHER_USER)


@pytest.mark.parametrize("change", [lambda path: path.chmod(0o770), lead_elsewhere, give_away])
def test_a_place_of_others_is_ignored(place: Cache, tmp_path: Path, change: Callable[[Path], None]) -> None:
    """Also one that others may write to, and a link."""
    change(Path(place.directory))
    assert Cache.find([str(tmp_path)]) is None
    assert Cache.make([str(tmp_path)]) is None


@pytest.fixture(autouse=True)
def no_batch_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)


@pytest.fixture
def place(tmp_path: Path) -> Cache:
    made = Cache.make([str(tmp_path)])
    assert made is not None
    return made


def publish(place: Cache, key: str, content: bytes = b"content", options: Options | None = None) -> str:
    store = place.create({"index": len(content), "code": len(content)}, options or switched_off())
    for name, data in (("index", content), ("code", content[::-1])):
        store.write(name, 0, memoryview(data))
        store.seal(name)
    place.publish(key, store, "script /app.py", 0)
    store.leave()
    return store.directory


def attached(place: Cache, key: str) -> Store:
    store = place.attach(key)
    assert store is not None
    store.count_use()
    return store


def stores(place: Cache) -> list[str]:
    return sorted(str(path) for path in Path(place.path(STORES)).iterdir())


def test_a_place_is_made_once_and_found_by_everybody(tmp_path: Path) -> None:
    assert Cache.find([str(tmp_path)]) is None
    made = Cache.make([str(tmp_path / "none"), str(tmp_path)])
    found = Cache.find([str(tmp_path / "none"), str(tmp_path)])
    assert made is not None and found is not None and made.directory == found.directory
    assert Path(found.directory).stat().st_mode & 0o777 == 0o700


def test_batch_jobs_have_places_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Cache.make([str(tmp_path)])
    monkeypatch.setenv("SLURM_JOB_ID", "12/../3")
    assert batch_job() == "12/../3"
    assert Cache.find([str(tmp_path)]) is None
    made = Cache.make([str(tmp_path)])
    assert made is not None and Path(made.directory).name == f"mpiimport-cache.{os.geteuid()}.12____3"


def test_processes_that_make_it_at_once_have_one_place(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from mpiimport.runtime.store.cache import Cache\n"
        "print('ready', flush=True)\n"
        "for number in map(int, sys.stdin):\n"
        "    print(Cache.found_or_made([sys.argv[1]], f'session-{number}').directory, flush=True)\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    pipe = subprocess.PIPE
    running = [subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) for _ in range(4)]
    for process in running:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    numbers = "".join(f"{number}\n" for number in range(200))
    for process in running:
        assert process.stdin is not None
        process.stdin.write(numbers)
        process.stdin.flush()
    said = [process.communicate(timeout=60)[0] for process in running]
    assert len(said[0].split()) == 200 and len(set(said)) == 1


def test_nothing_is_there_before_it_is_published(place: Cache) -> None:
    assert place.attach(KEY) is None
    store = place.create({"index": 1, "code": 1}, switched_off())
    assert place.attach(KEY) is None
    store.leave()
    assert stores(place) == []


def test_a_store_outlives_its_users(place: Cache) -> None:
    directory = publish(place, KEY)
    for _ in range(2):
        store = attached(place, KEY)
        assert store.read("index") == b"content"
        store.leave()
    assert stores(place) == [directory]
    assert Path(directory, PROGRAM).read_text() == "script /app.py"


def test_a_newer_store_takes_the_place_of_one_that_is_still_used(place: Cache) -> None:
    old = publish(place, KEY, b"old")
    user = attached(place, KEY)
    new = publish(place, KEY, b"new")
    assert stores(place) == sorted([old, new])
    assert (user.read("index"), attached(place, KEY).read("index")) == (b"old", b"new")
    user.leave()
    place.expire(3600)
    os.utime(Path(old, LOCK), (0, 0))
    place.expire(10**10)
    assert stores(place) == [new]


def test_a_newer_store_removes_one_that_nobody_uses(place: Cache) -> None:
    publish(place, KEY, b"old")
    new = publish(place, KEY, b"new")
    assert stores(place) == [new]


def test_what_nobody_comes_to_any_more_is_swept(place: Cache) -> None:
    idle, used = publish(place, KEY), publish(place, OTHER)
    user = attached(place, OTHER)
    for directory in (idle, used):
        os.utime(Path(directory, LOCK), (0, time.time() - 100))
    place.expire(3600)
    assert stores(place) == sorted([idle, used])
    place.expire(50)
    assert stores(place) == [used]
    user.leave()
    assert place.attach(KEY) is None


def test_coming_to_a_store_counts_as_its_use(place: Cache) -> None:
    directory = publish(place, KEY)
    os.utime(Path(directory, LOCK), (0, 0))
    attached(place, KEY).leave()
    place.expire(50)
    assert stores(place) == [directory]


def test_the_stores_not_used_for_longest_make_room_but_none_that_is_used(place: Cache) -> None:
    options = switched_off()
    options.store_size = Size.parse("40MiB")
    contents = [os.urandom(6 << 20) for _ in range(4)]
    directories = [publish(place, f"{number:016x}", contents[number], options) for number in range(3)]
    for age, directory in enumerate(directories):
        os.utime(Path(directory, LOCK), (0, 1000 + age))
    oldest = attached(place, f"{0:016x}")
    os.utime(Path(directories[0], LOCK), (0, 0))
    new = publish(place, KEY, contents[3], options)
    assert stores(place) == sorted([directories[0], directories[2], new])
    oldest.leave()


def test_a_store_for_which_there_is_no_room_is_refused_and_leaves_nothing(place: Cache) -> None:
    options = switched_off()
    options.store_size = Size.parse("1MiB")
    with pytest.raises(NoRoom):
        place.create({"index": 2 << 20, "code": 0}, options)
    assert stores(place) == []


def test_one_process_fills_and_nobody_waits_for_it_or_fills_again_at_once(place: Cache) -> None:
    filling = place.begin_filling(KEY)
    assert filling is not None
    other = (
        "import sys\n"
        "from mpiimport.runtime.store.cache import Cache\n"
        "print(Cache(sys.argv[1]).begin_filling(sys.argv[2]))"
    )
    command = [sys.executable, "-c", other, place.directory, KEY]
    said = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert said == "None\n"
    os.close(filling)
    said = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert said == "None\n"
    for moment in (0, time.time() + 3600):
        os.utime(place.path(FILLING, KEY), (0, moment))
        said = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        assert said != "None\n"


def test_who_begins_to_fill_a_store_while_all_are_removed_is_told(place: Cache) -> None:
    Path(place.path(FILLING)).rmdir()
    with pytest.raises(NoRoom, match="session stop came meanwhile"):
        place.begin_filling(KEY)


def test_the_place_stays_where_somebody_comes_while_it_is_removed(
    place: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    come = Path(place.path(FILLING), KEY)

    def remove_images(_directory: str) -> list[str]:
        come.touch()
        return []

    monkeypatch.setattr(cache_removal, "remove_images", remove_images)
    assert remove_cache(place) == []
    assert come.exists()
    assert place.create({}, switched_off())


def test_a_store_that_was_removed_while_room_was_made_for_it(place: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    def reserve(store: Store, _sizes: dict[str, int]) -> None:
        shutil.rmtree(store.directory)
        os.open(store.path("index"), os.O_RDONLY)

    monkeypatch.setattr(Store, "_reserve", reserve)
    with pytest.raises(NoRoom, match="/stores: it was removed meanwhile;"):
        place.create({"index": 1}, switched_off())


def test_what_a_killed_filler_left_is_swept(place: Cache) -> None:
    program = (
        "import os, signal, sys\n"
        "from mpiimport.runtime.options import switched_off\n"
        "from mpiimport.runtime.store.cache import Cache\n"
        "Cache(sys.argv[1]).create({'index': 1000, 'code': 1000}, switched_off())\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", program, place.directory], cwd=ROOT, check=False)
    (left,) = stores(place)
    os.utime(Path(left, LOCK), (0, 0))
    place.expire(10**10)
    assert stores(place) == []


def test_what_stores_hold_alike_is_there_once(place: Cache) -> None:
    content = bytes(range(256)) * 4096
    one, other = publish(place, KEY, content), publish(place, OTHER, content)
    different = publish(place, "1" * 16, content[:-1])
    inodes = {(Path(store) / name).stat().st_ino for store in (one, other) for name in ("index", "code")}
    assert len(inodes) == 2 and len(list(Path(place.path(OBJECTS)).iterdir())) == 4
    assert place.size() < 5 * len(content)
    assert place.idle_size() == place.size()
    # The object lasts as long as a store that has it.
    user = attached(place, OTHER)
    os.utime(Path(one, LOCK), (0, 0))
    os.utime(Path(different, LOCK), (0, 0))
    place.expire(3600)
    assert stores(place) == [other] and user.read("index") == content
    assert len(list(Path(place.path(OBJECTS)).iterdir())) == 2 and place.idle_size() == 0
    user.leave()
    assert remove_cache(place) == [] and not Path(place.directory).exists()


def test_alike_libraries_of_one_store_stay_two(tmp_path: Path) -> None:
    """ld.so would take them for one, with one state."""
    objects = tmp_path / "objects"
    objects.mkdir()
    libraries = [tmp_path / store / name for store in ("first", "second") for name in ("one.so", "other.so")]
    for library in libraries:
        library.parent.mkdir(exist_ok=True)
        library.write_bytes(bytes(1 << 16))
        os.utime(library, ns=(SEAL, SEAL))
    for store in ("first", "second"):
        share(SimpleNamespace(directory=str(tmp_path / store)), str(objects))  # type: ignore[arg-type]
    assert [len({path.stat().st_ino for path in libraries[i : i + 2]}) for i in (0, 2)] == [2, 2]
    assert len({path.stat().st_ino for path in libraries}) == 3


def test_an_object_that_was_written_to_is_taken_by_no_other_store(place: Cache) -> None:
    content = bytes(1 << 20)
    first = publish(place, KEY, content)
    with Path(first, "code").open("r+b") as stream:
        stream.write(b"damaged")
    second = publish(place, OTHER, content)
    assert Path(second, "code").read_bytes() == content != Path(first, "code").read_bytes()
    # From now on it is the sound one that others share.
    third = publish(place, "1" * 16, content)
    assert Path(third, "code").samefile(Path(second, "code"))


def test_a_store_of_libraries_that_lie_deep_is_removed(place: Cache) -> None:
    name = "lib/" + "directory/" * 60 + "library.so"
    store = place.create({"index": 1, "code": 1, name: 1}, switched_off())
    place.publish(KEY, store, "script", 0)
    store.leave()
    assert remove_cache(place) == [] and not Path(place.directory).exists()


def test_stopping_removes_everything_but_what_is_used(place: Cache) -> None:
    publish(place, KEY)
    used = publish(place, OTHER)
    user = attached(place, OTHER)
    assert remove_cache(place) == [used]
    assert place.attach(OTHER) is None
    user.leave()
    assert remove_cache(place) == []
    assert not Path(place.directory).exists()


# Publishes and attaches by turns, and checks that what it gets is whole.
CHANGING = """
import os, random, sys
from mpiimport.runtime.options import switched_off
from mpiimport.runtime.store.cache import Cache
place, key, seed = Cache(sys.argv[1]), sys.argv[2], int(sys.argv[3])
choice = random.Random(seed)
attached = 0
for number in range(150):
    if choice.random() < 0.3:
        filling = place.begin_filling(key, rest=0)
        if filling is None:
            continue
        content = bytes([choice.randrange(256)]) * 5000
        store = place.create({"index": 5000, "code": 5000}, switched_off())
        for name in ("index", "code"):
            store.write(name, 0, memoryview(content))
        place.publish(key, store, "script", 0)
        store.leave()
        os.close(filling)
    elif choice.random() < 0.05:
        place.expire(10**10)
    else:
        store = place.attach(key)
        if store is not None:
            index = store.read("index")
            assert len(index) == 5000 and len(set(index)) == 1
            store.open_code()
            attached += 1
            store.leave()
print(attached)
"""


def test_processes_that_publish_attach_and_sweep_at_random_always_find_whole_stores(place: Cache) -> None:
    commands = [[sys.executable, "-c", CHANGING, place.directory, KEY, str(seed)] for seed in range(6)]
    running = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for command in commands]
    said = [process.communicate(timeout=60)[0] for process in running]
    assert [process.returncode for process in running] == [0] * len(running)
    assert sum(map(int, said)) > 0
    place.expire(0)
    assert len(stores(place)) <= 1
    assert list(Path(place.path(PROGRAMS)).glob("*.*")) == []
    assert {path.name for path in Path(place.path(FILLING)).iterdir()} == {KEY}


def place_of_image(place: Cache) -> Path:
    image = Path(place.path(IMAGES, "0123"))
    image.mkdir(parents=True, mode=0o700)
    Cache(str(image)).complete()
    return image


def test_a_place_takes_those_of_images_with_it(place: Cache) -> None:
    publish(Cache(str(place_of_image(place))), KEY)
    assert remove_cache(place) == []
    assert not Path(place.directory).exists()


def test_the_place_of_an_image_is_left_while_one_of_its_containers_uses_a_store(place: Cache) -> None:
    image = place_of_image(place)
    publish(Cache(str(image)), KEY)
    store = attached(Cache(str(image)), KEY)
    assert remove_cache(place) == [str(image)]
    assert Path(store.directory).exists()
    store.leave()
    assert remove_cache(place) == []


def test_places_of_images_go_when_nobody_has_come_to_them_for_long(place: Cache) -> None:
    image = place_of_image(place)
    publish(Cache(str(image)), KEY)
    place.expire(LEASE)
    assert image.exists()
    for path in (image, *image.glob("stores/*"), *image.glob("stores/*/lock")):
        os.utime(path, (0, 0))
    place.expire(LEASE)
    assert not image.exists()


def test_no_link_that_a_container_has_made_is_followed(place: Cache, tmp_path: Path) -> None:
    """Containers write to the places of their images; whoever removes them has more rights."""
    mine = tmp_path / "mine" / "work"
    mine.mkdir(parents=True)
    (mine / "lock").write_text("")
    image = place_of_image(place)
    for name in ("stores", "programs"):
        (image / name).rmdir()
        (image / name).symlink_to(mine.parent)
    (image / "wanted" / "link").symlink_to(mine)
    deep = image.joinpath("filling", *"abc")
    deep.mkdir(parents=True)
    (deep / "link").symlink_to(mine / "lock")
    assert remove_cache(place) == []
    assert (mine / "lock").exists() and not image.exists()


def test_a_tree_without_end_is_left(place: Cache) -> None:
    image = place_of_image(place)
    image.joinpath(*"a" * 300).mkdir(parents=True)
    assert [Path(left).parent for left in remove_cache(place)] == [image.parent]


def test_the_launch_side_knows_the_same_batch_jobs() -> None:
    text = (ROOT / "hooks" / "internal" / "leaves" / "storecache" / "names.go").read_text()
    line = next(line for line in text.splitlines() if line.startswith("var batchJobs"))
    assert re.findall(r'"(\w+)"', line) == list(BATCH_JOBS)


def test_a_place_that_was_removed_while_it_is_mounted_is_none(
    place: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    descriptor = os.open(place.directory, os.O_RDONLY)
    monkeypatch.setattr(place_module, "candidates", lambda *_: [f"/proc/self/fd/{descriptor}/."])
    assert Cache.find([str(tmp_path)]) is not None
    assert remove_cache(place) == []
    assert Cache.find([str(tmp_path)]) is None
    os.close(descriptor)
