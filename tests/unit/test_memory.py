"""The memory that control groups leave: of both versions, the tightest limit, page cache not counted as used."""

from pathlib import Path

import pytest

from mpiimport import runtime
from mpiimport.runtime.size import Size
from mpiimport.runtime.store import memory
from mpiimport.runtime.store.memory import CGROUPS, OWN_GROUPS, PART_OF_MPI, SHARED_MEMORY, memory_left
from mpiimport.runtime.store.store import NoRoom, Store

MIB = 1 << 20
V2 = ("memory.max", "memory.current", "")
V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_")


class Groups:
    """A made-up /sys/fs/cgroup and /proc/self/cgroup."""

    def __init__(self, directory: Path) -> None:
        self.top = directory / "cgroup"
        self.top.mkdir()
        self.own = directory / "own"

    def group(self, version: tuple[str, str, str], path: str, limit: int | str, used: int = 0, cached: int = 0) -> None:
        limit_name, usage_name, prefix = version
        group = self.top / path
        group.mkdir(parents=True, exist_ok=True)
        (group / limit_name).write_text(f"{limit}\n")
        (group / usage_name).write_text(f"{used}\n")
        (group / "memory.stat").write_text(
            f"anon 5\n{prefix}inactive_file {cached // 2}\n{prefix}active_file {cached - cached // 2}\nfile 1234567\n"
        )

    def left(self, *lines: str) -> int | None:
        self.own.write_text("".join(f"{line}\n" for line in lines))
        return memory_left(str(self.top), str(self.own))


@pytest.fixture
def groups(tmp_path: Path) -> Groups:
    return Groups(tmp_path)


def test_what_is_used_is_not_left(groups: Groups) -> None:
    groups.group(V2, "user/job", 100 * MIB, used=30 * MIB)
    assert groups.left("0::/user/job") == 70 * MIB


def test_the_page_cache_can_be_taken_back(groups: Groups) -> None:
    groups.group(V2, "job", 100 * MIB, used=90 * MIB, cached=80 * MIB)
    assert groups.left("0::/job") == 90 * MIB


def test_the_tightest_of_all_groups_above_counts(groups: Groups) -> None:
    groups.group(V2, "a", 50 * MIB, used=40 * MIB)
    groups.group(V2, "a/b", "max")
    groups.group(V2, "a/b/c", 100 * MIB)
    assert groups.left("0::/a/b/c") == 10 * MIB


def test_a_group_over_its_limit_leaves_nothing(groups: Groups) -> None:
    groups.group(V2, "job", 10, used=20)
    assert groups.left("0::/job") == 0


@pytest.mark.parametrize("path", ["job", ""])
def test_the_first_version(groups: Groups, path: str) -> None:
    groups.group(V1, f"memory/{path}", 100 * MIB, used=60 * MIB, cached=10 * MIB)
    assert groups.left("9:cpu,cpuacct:/", "5:memory:/job", "1:name=systemd:/", "0::/") == 50 * MIB


def test_a_container_that_sees_its_group_as_the_topmost(groups: Groups) -> None:
    groups.group(V2, "", 100 * MIB, used=1 * MIB)
    assert groups.left("0::/docker/0123456789") == 99 * MIB


def test_a_mount_of_the_second_version_beside_the_first(groups: Groups) -> None:
    groups.group(V2, "unified/job", 100 * MIB)
    assert groups.left("5:memory:/", "0::/job") == 100 * MIB


@pytest.mark.parametrize("limit", ["max", (1 << 63) - 4096, "", "nonsense", "-1"])
def test_no_limit(groups: Groups, limit: int | str) -> None:
    groups.group(V2, "job", limit)
    groups.group(V1, "memory/job", limit)
    assert groups.left("5:memory:/job", "0::/job") is None


def test_nothing_to_be_seen(groups: Groups) -> None:
    assert groups.left() is None
    assert groups.left("0::/not/there") is None
    assert memory_left("/nowhere", "/nowhere") is None


def test_the_machine_itself_can_be_asked() -> None:
    left = memory_left(CGROUPS, OWN_GROUPS)
    assert left is None or left >= 0


@pytest.mark.parametrize("left", [None, 8 * MIB])
def test_half_of_what_is_left_may_be_taken(left: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "memory_left", lambda: left)
    monkeypatch.setattr(memory, "file_system", lambda path: "tmpfs")
    Store.create([str(tmp_path)], {"index": 4 * MIB}).leave()


def test_more_than_half_is_refused_with_the_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "memory_left", lambda: 8 * MIB - 2)
    monkeypatch.setattr(memory, "file_system", lambda path: "tmpfs")
    with pytest.raises(NoRoom, match=r"4 MiB are needed, more than 50% of the 7 MiB that the memory limit"):
        Store.create([str(tmp_path)], {"index": 4 * MIB})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("most", "left", "refusal"),
    [
        ("4MiB", None, ""),
        ("3MiB", None, "more than MPIIMPORT_STORE_SIZE=3MiB allows"),
        ("3MiB", 100 * MIB, "more than MPIIMPORT_STORE_SIZE=3MiB allows"),
        ("4GiB", 3 * MIB, "more than the 3 MiB that the memory limit"),
        ("4GiB", 4 * MIB, ""),
        ("100%", 4 * MIB, ""),
        ("10%", 39 * MIB, "more than 10% of the 39 MiB that the memory limit"),
        ("10%", 40 * MIB, ""),
        ("1%", None, ""),
    ],
)
def test_what_a_store_may_take_can_be_chosen(
    most: str, left: int | None, refusal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "memory_left", lambda: left)
    monkeypatch.setattr(memory, "file_system", lambda path: "tmpfs")
    if refusal:
        with pytest.raises(NoRoom, match=f"4 MiB are needed, {refusal}"):
            Store.create([str(tmp_path)], {"index": 4 * MIB}, Size.parse(most))
    else:
        Store.create([str(tmp_path)], {"index": 4 * MIB}, Size.parse(most)).leave()
    assert list(tmp_path.iterdir()) == []


def test_a_place_on_disk_has_a_limit_of_its_own_and_not_that_of_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "memory_left", lambda: 0)
    monkeypatch.setattr(memory, "file_system", lambda path: "ext4")
    Store.create([str(tmp_path)], {"index": 4 * MIB}, Size.parse("1%")).leave()
    with pytest.raises(NoRoom, match="MPIIMPORT_STORE_SIZE=3MiB"):
        Store.create([str(tmp_path)], {"index": 4 * MIB}, Size.parse("3MiB"))


class Free:
    """What statvfs(3) says of a file system."""

    def __init__(self, free: int) -> None:
        self.f_frsize, self.f_bavail, self.f_flag = 1, free, 0


def test_a_share_is_one_of_what_the_file_system_has_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "memory_left", lambda: 100 * MIB)
    for kind, free in (("tmpfs", 9 * MIB), ("ext4", 9 * MIB)):
        monkeypatch.setattr(memory, "file_system", lambda path, kind=kind: kind)
        monkeypatch.setattr(runtime.os, "statvfs", lambda path, free=free: Free(free))
        assert memory.excess(4 * MIB, str(tmp_path), Size.parse("50%")) == ""
        assert memory.excess(5 * MIB, str(tmp_path), Size.parse("50%")) == "50% of the 9 MiB that are free there"
        assert memory.excess(9 * MIB, str(tmp_path), Size.parse("1GiB")) == ""
        assert memory.excess(10 * MIB, str(tmp_path), Size.parse("1GiB")) == "the 9 MiB that are free there"
        assert memory.room(str(tmp_path), Size.parse("50%")) == 9 * MIB // 2
        # Of what is taken already, too.
        assert memory.room(str(tmp_path), Size.parse("50%"), taken=MIB) == 4 * MIB
        assert memory.room(str(tmp_path), Size.parse("2MiB"), taken=MIB) == MIB
        assert memory.room(str(tmp_path), Size.parse("50%"), taken=10 * MIB) == 0


@pytest.mark.parametrize("most", ["50%", "100%", "1GiB"])
def test_mpi_is_left_its_part_of_dev_shm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: str) -> None:
    monkeypatch.setattr(memory, "memory_left", lambda: None)
    monkeypatch.setattr(runtime.os, "statvfs", lambda path: Free(PART_OF_MPI + MIB))
    assert memory.room(SHARED_MEMORY, Size.parse(most)) == MIB
    assert memory.excess(MIB, SHARED_MEMORY, Size.parse(most)) == ""
    assert memory.excess(MIB + 1, SHARED_MEMORY, Size.parse(most)) == "what leaves MPI 64 MiB of the 65 MiB there"
    assert memory.room(str(tmp_path), Size.parse(most)) > MIB


@pytest.mark.parametrize(("size", "words"), [(1, "1 KiB"), (MIB - 1, "1024 KiB"), (MIB, "1 MiB"), (5 * MIB, "5 MiB")])
def test_what_is_needed_is_never_said_to_be_nothing(size: int, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "memory_left", lambda: 0)
    monkeypatch.setattr(memory, "file_system", lambda path: "tmpfs")
    with pytest.raises(NoRoom, match=f"{words} are needed"):
        Store.create(["/dev/shm"], {"index": size})
