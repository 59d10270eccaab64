"""The shared libraries of an image, read out of it by the container runtime."""

import io
import os
import subprocess
import tempfile
from pathlib import Path

from mpiimport.runtime.payload.ldcache import CACHE, cached_libraries

from ..complaint import Complaint
from ..machine.containers import answer, exec_line, last_words
from .shared_libraries import Library, NotALibrary, read_library

# What LD_LIBRARY_PATH of the image's own environment leads to.
LIST = 'IFS=:; for d in $LD_LIBRARY_PATH; do for f in "$d"/*.so*; do [ ! -e "$f" ] || echo "$f"; done; done'


class ImageLibraries:
    """The libraries that the image's own loader would find: where the image's environment says, and by its cache."""

    def __init__(self, image: str) -> None:
        """Raises Complaint where the image cannot be read, or is not of glibc."""
        self._image = image
        self._known: dict[str, Library | None] = {}
        self._start = exec_line(image, [], "--cleanenv")
        with tempfile.NamedTemporaryFile() as copy:
            Path(copy.name).write_bytes(self._read(CACHE))
            self._paths = cached_libraries(copy.name)
        for path in self._run("sh", "-c", LIST).stdout.decode(errors="replace").splitlines()[::-1]:
            self._paths.setdefault(Path(path).name, []).insert(0, path)
        libc = self.library("libc.so.6")
        if libc is None:
            raise Complaint(f"{image} has no C library of GNU that its {CACHE} knows, so libraries cannot be compared")
        self.machine = libc.machine

    def has(self, path: str) -> bool:
        return self._run("test", "-e", path).returncode == 0

    def library(self, soname: str) -> Library | None:
        """Return the library with this soname; None where there is none that can be read."""
        if soname not in self._known:
            paths = self._paths.get(soname)
            self._known[soname] = self._parsed(paths[0]) if paths else None
        return self._known[soname]

    def _parsed(self, path: str) -> Library | None:
        try:
            return read_library(io.BytesIO(self._read(path)))
        except NotALibrary:
            return None

    def _read(self, path: str) -> bytes:
        done = self._run("cat", path)
        if done.returncode:
            raise Complaint(f"cannot read {path} in {self._image}: {last_words(done)}")
        return done.stdout

    def _run(self, *command: str) -> "subprocess.CompletedProcess[bytes]":
        return answer([*self._start, *command], {**os.environ, "MPIIMPORT": "0"}, self._image)
