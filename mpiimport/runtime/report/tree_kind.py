"""What the Python tree lies in, as far as this process can tell: advice depends on it."""

import sys

from .. import os
from ..file_systems import IMAGE_FILE, OVERLAY, file_system, image_on
from ..store.key import IMAGE_NAMES

# In the place of a type of file systems.
IMAGE = "image file"
# Those of images, as FUSE names them, too; and how files of images are called.
TYPES = ("squashfs", "erofs", "fuse.squashfuse")
SUFFIXES = (".sif", ".simg", ".sqsh", ".sqfs", ".squashfs", ".img")


def tree_kind() -> str:
    """Return IMAGE, or the type of the file system that holds the tree; empty where nothing shows it."""
    kind = file_system(sys.prefix)
    names = (os.environ.get(name, "") for name in IMAGE_NAMES)
    below_overlay = kind == OVERLAY and (image_on() == IMAGE_FILE or any(name.endswith(SUFFIXES) for name in names))
    return IMAGE if below_overlay or kind.startswith(TYPES) else kind
