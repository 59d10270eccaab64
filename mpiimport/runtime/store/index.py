"""What a store holds: the part of the payload that every rank keeps in memory.

Packed as a digest and the marshalled table; ranks of one job run the same Python, so marshal's format is common ground.
"""

import marshal

from .. import os
from ..digest import DIGEST_SIZE, Damaged, digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..listing import Seen, Stamp
    from .store import Store

    OfMpi = tuple[list[str], list[str], bool]


class Index:
    """The table of one store.

    listings   directory -> {name: FILE or DIRECTORY}, the names an import can use
    writable   directory that the job may write to -> what root saw of it, which counts while its stamp is that; None
               of one that has just changed: it is asked itself
    absent     entries of ``sys.path`` that are no directory
    code       source or bytecode file -> (offset, length, the file's ``stamp``)
    libraries  original path of every library in the store -> the file's ``stamp``
    aliases    real path of a library -> the path in ``libraries`` by which it was found, where the two differ
    needs      library -> paths of the libraries to load before it, in order
    own        those of ``libraries`` that the job may write, which are compared with their stamps
    searched   directory -> its ``stamp``, None of one that is not there: where ld.so would look for ``own`` ones
    unnamed    libraries that others need by a name that is not their soname
    metadata   ``*.dist-info`` directory -> {file name: (offset, length), None where it does not exist}
    answers    what ``site_answers.Answers`` recorded on root
    expected   of a cached store: the modules that earlier processes are known to have imported
    linker     of a cached store: ``linker_settings`` of what found its libraries
    mpi        of a cached store: library of MPI's -> paths of those to load before it, in order; other paths that
               it is opened by; and whether it looks for others where it lies: beside its copy, then (see ``links``)
    dependencies  of a cached store: the digest of what its paths were like, see ``dependencies``
    mounts     of a cached store: what the container that filled it was started with
    """

    listings: dict[str, dict[str, int]]
    writable: "dict[str, Seen | None]"
    absent: list[str]
    code: "dict[str, tuple[int, int, Stamp]]"
    libraries: "dict[str, Stamp]"
    needs: dict[str, list[str]]
    own: set[str]
    searched: "dict[str, Stamp | None]"
    unnamed: list[str]
    metadata: dict[str, dict[str, tuple[int, int] | None]]
    answers: dict[tuple[str, str], object]
    aliases: dict[str, str]
    expected: set[str]
    linker: list[str]
    mpi: "dict[str, OfMpi]"
    dependencies: bytes
    mounts: str

    def __init__(self, **fields: "Any") -> None:
        self.__dict__.update(fields)

    def leave_libraries(self) -> None:
        """Leave libraries to ld.so, which may find others for this process than it did for root."""
        self.libraries = {}
        self.searched = {}
        self.needs = {path: [] for path in self.needs}

    def pack(self) -> bytes:
        """Raises AttributeError where a field is missing."""
        table = marshal.dumps([getattr(self, name) for name in type(self).__annotations__])
        return digest(table) + table

    @classmethod
    def unpack(cls, data: bytes) -> "Index":
        """Raises Damaged."""
        if len(data) < DIGEST_SIZE or digest(data[DIGEST_SIZE:]) != data[:DIGEST_SIZE]:
            raise Damaged("the index of the store is damaged")
        return cls(**dict(zip(cls.__annotations__, marshal.loads(data[DIGEST_SIZE:]), strict=True)))


def attach(store: "Store") -> tuple[Index, str]:
    """Return the index of a store, whose code can be read from then on, and its generation.

    Raises Damaged and OSError.
    """
    packed = store.read("index")
    index = Index.unpack(packed)
    store.open_code()
    return index, generation(packed)


def generation(packed: bytes) -> str:
    """Return what tells a packed index from that of any other store; on all nodes that were sent it, the same."""
    return packed[:DIGEST_SIZE].hex()


def linker_settings() -> list[str]:
    """Return what the environment says of where ld.so finds libraries (ld.so(8))."""
    return [os.environ.get(name, "") for name in ("LD_LIBRARY_PATH", "LD_PRELOAD", "LD_AUDIT")]
