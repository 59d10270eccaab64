"""The memory that control groups leave: of both versions, the tightest limit, page cache not counted as used."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

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


OTHERS = ("9:cpu,cpuacct:/", "5:memory:/job", "1:name=systemd:/", "0::/")
# Groups, each with its version, path, limit, and MiB used and of these in the page cache; a process's own; MiB left.
LEFT: dict[str, tuple[list[tuple[Any, ...]], tuple[str, ...], int | None]] = {
    "what is used is not left": ([(V2, "user/job", 100 * MIB, 30)], ("0::/user/job",), 70),
    "the page cache can be taken back": ([(V2, "job", 100 * MIB, 90, 80)], ("0::/job",), 90),
    "the tightest of all groups above counts": (
        [(V2, "a", 50 * MIB, 40), (V2, "a/b", "max"), (V2, "a/b/c", 100 * MIB)],
        ("0::/a/b/c",),
        10,
    ),
    "a group over its limit leaves nothing": ([(V2, "job", 10, 20)], ("0::/job",), 0),
    "the first version": ([(V1, "memory/job", 100 * MIB, 60, 10)], OTHERS, 50),
    "the first version above all": ([(V1, "memory/", 100 * MIB, 60, 10)], OTHERS, 50),
    "a container that sees its group as the topmost": ([(V2, "", 100 * MIB, 1)], ("0::/docker/0123456789",), 99),
    "the second version beside the first": ([(V2, "unified/job", 100 * MIB)], ("5:memory:/", "0::/job"), 100),
    "no group": ([], (), None),
    "a group that is not there": ([], ("0::/not/there",), None),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_control_groups_leave(groups: Groups, name: str) -> None:
    made, own, left = LEFT[name]
    for version, path, limit, *of_it in made:
        groups.group(version, path, limit, *(number * MIB for number in of_it))
    found = groups.left(*own)
    assert (found if found is None else found // MIB) == left


@pytest.mark.parametrize("limit", ["max", (1 << 63) - 4096, "", "nonsense", "-1"])
def test_no_limit(groups: Groups, limit: int | str) -> None:
    groups.group(V2, "job", limit)
    groups.group(V1, "memory/job", limit)
    assert groups.left("5:memory:/job", "0::/job") is None


def test_a_machine_without_control_groups_and_this_one_can_be_asked() -> None:
    assert memory_left("/nowhere", "/nowhere") is None
    left = memory_left(CGROUPS, OWN_GROUPS)
    assert left is None or left >= 0


@pytest.mark.parametrize(
    ("most", "left", "refusal"),
    [
        ("", None, ""),
        ("", 8 * MIB, ""),
        ("", 8 * MIB - 2, "more than 50% of the 7 MiB that the memory limit"),
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
    size = (Size.parse(most),) if most else ()
    with pytest.raises(NoRoom, match=f"4 MiB are needed, {refusal}") if refusal else nullcontext():
        Store.create([str(tmp_path)], {"index": 4 * MIB}, *size).leave()
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
