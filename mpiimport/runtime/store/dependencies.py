"""All that a cached store was made from, and whether it is as it was, in the same image of a container."""

import marshal

from .. import os
from ..digest import Damaged, digest
from ..file_systems import IMAGE_LAYERS, image_on
from ..listing import stamp, stamp_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..listing import Stamp

# The file of a store that holds them: a process that need not look does not read it.
DEPENDENCIES = "dependencies"
# Where a container's own tree is mounted: its root, or this directory where Apptainer mounts directories one by one.
ROOT, OF_IMAGE = "/", "/.singularity.d"
DIRECTORY, KIND = 0o040000, 0o170000


class Dependencies:
    """What each path was like that a store speaks of.

    seen      path -> its ``stamp``, None of one that does not exist
    of_image  the same of paths in a container's image, by ``stamp_in_image``
    """

    def __init__(self) -> None:
        self.seen: dict[str, Stamp | None] = {}
        self.of_image: dict[str, Stamp] = {}

    def pack(self) -> bytes:
        return marshal.dumps((self.seen, self.of_image))

    @classmethod
    def unpack(cls, data: bytes, expected: bytes) -> "Dependencies":
        """Return those that were packed as ``data``, whose digest is ``expected``. Raises Damaged."""
        if digest(data) != expected:
            raise Damaged("the dependencies of the store are damaged")
        dependencies = cls()
        dependencies.seen, dependencies.of_image = marshal.loads(data)
        return dependencies

    def hold(self) -> bool:
        """Tell whether everything is as it was."""
        return next(self.changed(), None) is None

    def changed(self) -> "Iterator[str]":
        """Yield the paths that are not as they were."""
        yield from (path for path, seen in self.seen.items() if stamp_of(path) != seen)
        yield from of_another_image(self.of_image)


def own_root() -> str:
    """Return a directory of the container's own tree."""
    return OF_IMAGE if os.path.isdir(OF_IMAGE) else ROOT


def of_another_image(seen: "dict[str, Stamp]") -> "Iterator[str]":
    """Yield the paths that are not as they were, or lie on what is mounted over the image.

    An overlay may show directories and files as those of two devices; of what is mounted elsewhere both are others.
    """
    directories = os.stat(own_root()).st_dev if seen else 0
    files = 0
    for path, known in seen.items():
        try:
            status = os.stat(path)
        except OSError:
            yield path
            continue
        if status.st_mode & KIND == DIRECTORY:
            device = directories
        else:
            device = files = files or status.st_dev
        if status.st_dev != device or stamp_in_image(path, status) != known:
            yield path


def stamp_in_image(path: str, status: "os.stat_result") -> "Stamp":
    """Return the stamp of a path in an image.

    Overlays of several file systems, as Apptainer's, number directories anew at each mount: their place counts.
    """
    if status.st_mode & KIND != DIRECTORY or image_on() == IMAGE_LAYERS:
        return stamp(status)
    place = digest(os.fsencode(os.path.realpath(path)))
    return *stamp(status)[:3], int.from_bytes(place, "little")
