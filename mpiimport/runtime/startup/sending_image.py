"""Root's warm image on its way to all nodes, once each of them keeps a store."""

from .. import os
from ..messages import say
from ..size import in_words
from ..store.broadcast import Cargo, pack_sizes, unpack_sizes
from ..store.place import IMAGE, Place
from .warm_image import NONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..mpi.transport import Transport
    from ..options import Options
    from ..store.store import Store
    from .warm_image import Maker


class SendingImage:
    """``directory``: of the store that holds the image here, which nobody can come to yet. ``leads``: this rank is the
    one of its node that sees to the image."""

    def __init__(self, options: "Options", maker: "Maker | None") -> None:
        """``maker``: on root, of the image; it may not have begun."""
        self.directory = NONE
        self.leads = True
        self._options = options
        self._maker = maker

    def take_part(self, transport: "Transport") -> None:
        """Bring what root has made to the first rank of each node. Collective; what fails here concerns this node."""
        self.leads = transport.neighbours().rank == 0
        made: Store | None = None
        sizes: dict[str, int] = {}
        if self._maker is not None:
            made, sizes = self._maker.finish()
        sizes = unpack_sizes(transport.broadcast(pack_sizes(sizes)))
        leaders = transport.among(self.leads)
        if leaders is None or not sizes:
            return
        store, failure = (None, None) if made else self._reserve(sizes)
        cargo = self._load(sizes, made) if made else Cargo(sizes, store, self._options.broadcast)
        cargo.failure = failure
        copies = cargo.travel(leaders)
        try:
            cargo.check()
            self.directory = self._keep(made or store)
        except Exception:
            # This node makes its own.
            if store is not None:
                store.leave()
        if made and IMAGE in sizes:
            say(f"mpiimport: the warm image, {in_words(sizes[IMAGE])}, has come to {copies} of {leaders.size} nodes")

    def _reserve(self, sizes: dict[str, int]) -> "tuple[Store | None, Exception | None]":
        try:
            place = Place.found_or_made(self._options.store_places(), self._options.session)
            return place.create(sizes, self._options), None
        except Exception as exc:
            return None, exc

    def _load(self, sizes: dict[str, int], made: "Store") -> Cargo:
        from ..root.read_ahead import read_ahead
        from ..root.reading import read_into

        def fill(name: str, offset: int, buffer: memoryview) -> None:
            read_into(made.path(name), offset, buffer)

        return Cargo(sizes, None, self._options.broadcast, read_ahead(sizes, fill))

    def _keep(self, store: "Store | None") -> str:
        """Return the directory of a store, which from now on outlives this process."""
        if store is None:
            return NONE
        store.kept = True
        return os.fspath(store.directory)
