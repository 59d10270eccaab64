"""The memory of a stopped process, written into an image file by its parent."""

import os
import struct
from collections.abc import Callable

from mpiimport.runtime import PREFIX
from mpiimport.runtime.file_systems import DISKS, IMAGE_FILE, IMAGE_LAYERS, OVERLAY, image_on, mount_of
from mpiimport.runtime.payload.stamps import Mounts
from mpiimport.runtime.regular_file import read_regular
from mpiimport.runtime.store.dependencies import own_root
from mpiimport.runtime.store.store import SEAL, seal

from ..audit.key_files import File
from ..image_format import (
    ABSENT,
    ANONYMOUS,
    BLOCK,
    CHECKSUM_AT,
    CONTENT,
    FREE,
    KIND,
    LARGEST_CONTENT,
    MACHINE,
    MAPPED,
    OF_BOUND,
    OF_TREE,
    PAGE,
    STACK,
    STAMP,
    THREAD,
    VDSO,
    VVAR,
    WIPED,
    Image,
    Region,
    Run,
)
from ..memory_map import Mapping, Refused, mappings, memory_of, own_pages, unsigned, wiped_in_fork

# Bytes between two runs that are written along rather than mapped by another call.
GAP = 1 << 16
RED_ZONE = 128
NOTHING = bytes(PAGE)
SIGNS_ADDRESSES = os.uname().machine == "aarch64"
# The settings of a node, and mpiimport, which may be installed on each.
OF_EACH_NODE = (b"/etc/", os.fsencode(os.path.join(PREFIX, "")))


class Writer:
    """``pid``: the stopped process; ``place``: address and size of what it noted; ``digest``: of bytes, a number.

    ``key``: by which python-mpi knows the program, for a library: a snapshot there is sealed, as files of stores are.
    One for containers of an image file is whole: it maps no other file, so all pages of shared libraries are in it,
    touched or not. Those on a file system of many nodes are in it, too: else each process would open each of them.
    """

    def __init__(
        self,
        pid: int,
        place: tuple[int, int],
        digest: "Callable[[bytes], int]",
        key: bytes = b"",
    ) -> None:
        self._pid = pid
        self._digest = digest
        self._memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
        self._image = Image()
        self._files: dict[tuple[bytes, int], int] = {}
        self._image.key = self._image.add_text(key)
        # The key has the container's image. Each container may mount that anew.
        self._tree = mount_of(own_root()) if key and image_on() else None
        # Each container of an image file would read and unpack the libraries in it once more.
        self._is_whole = bool(key) and image_on() == IMAGE_FILE
        self._is_for_all_nodes = bool(key)
        self._brought: dict[bytes, bool] = {}
        self._mounts = Mounts()
        self._mappings: list[Mapping] = []
        self._take_notes(*place)

    def _take_notes(self, address: int, size: int) -> None:
        """Read what freeze.c keeps in ``frozen``."""
        notes = struct.unpack(f"<{size // 8}Q", os.pread(self._memory, size, address))
        image = self._image
        image.thread, image.machine = notes[:THREAD], notes[THREAD : THREAD + MACHINE]
        brk, signals = notes[THREAD + MACHINE], notes[THREAD + MACHINE + 1 :]
        start_code, end_code, start_data, end_data, start_brk, start_stack = memory_of(self._pid)
        image.memory = (start_code, end_code, start_data, end_data, start_brk, brk, start_stack)
        for number in range(1, 65):
            handler = signals[4 * number - 4 : 4 * number]
            if handler[0]:
                image.tables["signals"].append((number, *handler))

    def free(self, patterns: list[bytes]) -> None:
        """Let variables of these names have any value, in an image; the key has all others."""
        for pattern in patterns:
            self._image.tables["variables"].append((self._image.add_text(pattern), FREE))

    def write(self, path: str, words: list[bytes], variables: "dict[bytes, bytes | None]", files: list[File]) -> int:
        """Write the image, and return its size in bytes.

        ``words``: the interpreter and its options; ``variables``: name -> value, None where not set; ``files``: what
        must be as it is, beside what is mapped: path, and how. Raises Refused.
        """
        image = self._image
        wiped = wiped_in_fork(self._pid)
        image.tables["words"] = [(image.add_text(word),) for word in words]
        for name, value in sorted(variables.items()):
            row = (image.add_text(name), ABSENT if value is None else image.add_text(value))
            image.tables["variables"].append(row)
        runs = []
        self._mappings = mappings(self._pid)
        for mapping in self._mappings:
            region = Region(*mapping[:4], 0, 0)
            if mapping.start in wiped:
                mapping = mapping._replace(kind=WIPED)
                region = Region(*mapping[:4], 0, 0)
            elif mapping.kind == MAPPED:
                file = self._file(mapping)
                if self._has_all_of(mapping):
                    region = Region(*mapping[:3], ANONYMOUS, 0, 0)
                else:
                    region = Region(*mapping[:4], file, mapping.offset)
            image.tables["regions"].append(region)
            runs += self._runs(mapping)
        for each in files:
            # The version of mpiimport is in the key.
            if not self._is_for_all_nodes or not each[0].startswith(OF_EACH_NODE[1:]):
                self._stamp(*each)
        return self._write(path, runs)

    def _file(self, mapping: Mapping) -> int:
        number = self._stamp(mapping.path)
        row = self._image.tables["files"][number]
        # Below an overlay maps and stat(2) give other numbers. What a whole image has of the file is in memory anyway.
        is_seen = (
            row[6] == CONTENT or (self._tree is not None and row[1] in (OF_BOUND, OF_TREE)) or row[2] == mapping.inode
        )
        if not self._is_whole and not is_seen:
            raise Refused(f"a mapped file was replaced: {os.fsdecode(mapping.path)}")
        return number

    def _has_all_of(self, mapping: Mapping) -> bool:
        """Tell whether all pages of a mapped file are in the image, rather than mapped from the file."""
        if mapping.kind != MAPPED or self._is_whole or not self._is_for_all_nodes:
            return mapping.kind == MAPPED and self._is_whole
        if mapping.path not in self._brought:
            mount = mount_of(os.path.realpath(os.fsdecode(mapping.path)))
            kind = image_on() if mount == self._tree else mount[0]
            self._brought[mapping.path] = kind not in {*DISKS, OVERLAY, IMAGE_LAYERS}
        return self._brought[mapping.path]

    def _stamp(self, path: bytes, how: int = STAMP) -> int:
        if (path, how) not in self._files:
            rows = self._image.tables["files"]
            self._files[path, how] = len(rows)
            vouched = int(self._is_in_image(path))
            content = self._content_of(path) if how == STAMP and not vouched else None
            if content is not None:
                known = OF_BOUND, 0, len(content), self._digest(content), 0, CONTENT, vouched
                rows.append((self._image.add_text(path), *known))
                return self._files[path, how]
            try:
                status = os.stat(path) if how == STAMP else os.lstat(path)
                device = self._device_of(path, status.st_dev)
                stamp = (device, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
                if how == KIND:
                    stamp = (device, status.st_ino, status.st_mode, status.st_uid, status.st_gid)
            except OSError:
                stamp = (0, ABSENT, 0, 0, 0)
            rows.append((self._image.add_text(path), *stamp, how, vouched))
        return self._files[path, how]

    def _device_of(self, path: bytes, device: int) -> int:
        """Return what of the device of a path is to be as it was.

        Each node numbers devices by itself, so that of a file in no container's tree counts on this node alone.
        """
        if self._tree is not None:
            if self._mounts.has_in_bound(os.fsdecode(path), device):
                return OF_BOUND
            if mount_of(os.path.realpath(os.fsdecode(path))) == self._tree:
                return OF_TREE
        return OF_BOUND if self._is_for_all_nodes else device

    def _content_of(self, path: bytes) -> bytes | None:
        """Return the bytes of a small file that each node has for itself; None for all others."""
        if not self._is_for_all_nodes or not path.startswith(OF_EACH_NODE):
            return None
        try:
            return read_regular(os.fsdecode(path), LARGEST_CONTENT)
        except OSError:
            return None

    def _is_in_image(self, path: bytes) -> bool:
        """Tell whether an image file has a path, or would have it if it were there: then nothing can change it."""
        place = os.path.realpath(os.fsdecode(path))
        while not os.path.lexists(place):
            place = os.path.dirname(place)
        return self._is_whole and (
            mount_of(place) == self._tree or self._mounts.has_in_bound(place, os.lstat(place).st_dev)
        )

    def _runs(self, mapping: Mapping) -> list[tuple[int, int]]:
        """Return start and size of what of a mapping must be in the body."""
        if mapping.kind in (VDSO, VVAR, WIPED) or not mapping.protection:
            return []
        is_whole = self._has_all_of(mapping)
        own = [True] * (mapping.size // PAGE) if is_whole else own_pages(self._pid, mapping)
        zeros_are_there = mapping.kind != MAPPED or is_whole
        first = 0
        if mapping.kind == STACK:
            first = (self._image.thread[1] - RED_ZONE - mapping.start) // PAGE
        runs: list[list[int]] = []
        for number in range(first, len(own)):
            start = mapping.start + number * PAGE
            if not own[number] or (zeros_are_there and self._is_nothing(start)):
                continue
            if runs and start - sum(runs[-1]) <= GAP:
                runs[-1][1] = start + PAGE - runs[-1][0]
            else:
                runs.append([start, PAGE])
        return [(start, size) for start, size in runs]

    def _is_nothing(self, start: int) -> bool:
        try:
            return os.pread(self._memory, PAGE, start) == NOTHING
        except OSError:
            # Behind the end of its file: nobody can look at it.
            return True

    def _seal(self, file: int) -> bool:
        """Seal a new file, if it is to show that nobody has written to it since; tell whether it is."""
        if not self._is_for_all_nodes:
            return False
        try:
            seal(file)
        except OSError:
            # Nanoseconds are not kept everywhere.
            return False
        return True

    def _read(self, start: int, size: int) -> bytes:
        """Return what is written of memory. Raises Refused."""
        piece = os.pread(self._memory, size, start)
        if len(piece) < size:
            raise Refused("its memory cannot be read")
        for each in self._mappings:
            if each.kind == STACK and SIGNS_ADDRESSES and each.start <= start < each.start + each.size:
                return unsigned(piece, each.start + each.size, self._mappings)
        return piece

    def _write(self, path: str, runs: list[tuple[int, int]]) -> int:
        """Write a new file and give it the name at once, so that no start ever sees half of one."""
        image = self._image
        body = sum(size for _, size in runs)
        blocks = -(-body // BLOCK)
        image.tables["runs"] = [Run(*run, 0) for run in runs]
        at = body_at = image.body_at(blocks)
        for number, (start, size) in enumerate(runs):
            image.tables["runs"][number] = Run(start, size, at)
            at += size
        new = f"{path}.{os.getpid()}.new"
        file = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            is_sealed = self._seal(file)
            image.seal = SEAL if is_sealed else ABSENT
            # Who maps a file for which there is no room is ended by SIGBUS.
            os.posix_fallocate(file, 0, body_at + body)
            for start, size, at in image.tables["runs"]:
                for done in range(0, size, BLOCK):
                    length = min(BLOCK, size - done)
                    os.pwrite(file, self._read(start + done, length), at + done)
            sums = (self._digest(os.pread(file, BLOCK, body_at + number * BLOCK)) for number in range(blocks))
            image.tables["blocks"] = [(each,) for each in sums]
            packed = image.pack(body_at, body_at + body)
            packed = packed[:CHECKSUM_AT] + struct.pack("<Q", self._digest(packed)) + packed[CHECKSUM_AT + 8 :]
            os.pwrite(file, packed, 0)
            os.fsync(file)
            if is_sealed:
                seal(file)
            os.rename(new, path)
        except BaseException:
            os.unlink(new)
            raise
        finally:
            os.close(file)
        return body_at + body
