"""Libraries of the host that a profile brings into an image: whether the image's loader will take them."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from mpiimport.runtime.regular_file import open_regular

from ..planner import Brought, Plan, Value
from .image_libraries import ImageLibraries
from .shared_libraries import FAMILIES, Library, NotALibrary, read_library

SEARCH_PATH = re.compile(r"(user_namespace\.)?environment\.(set|default|append)\.LD_LIBRARY_PATH")
# Where libraries are named.
NAMING = ("mpi.library", "mpi.preload")
# Where the launch side puts the host's MPI.
PLACE = "/.mpiimport-mpi"
# What the C library's package brings is the image's own, always.
LOADER = re.compile(r"ld-linux.*\.so\.\d+|linux-vdso.*")


class Injection:
    """What a profile that says ``said`` brings of the host's libraries by its launch plan."""

    def __init__(self, said: list[Value], plan: Plan) -> None:
        # Of a file name the loader finds a copy by itself, which only a trial can tell.
        self._named = [value for value in said if value.key in NAMING and "/" in value.value]
        self._mounts = sorted(plan.mounts, key=lambda mount: len(mount.target), reverse=True)
        self._taken = plan.taken
        paths = [place for value in said if SEARCH_PATH.fullmatch(value.key) for place in value.value.split(":")]
        self._directories = [host for host in map(self._on_host, paths) if host]
        self._abi = next((value for value in said if value.key == "mpi.abi"), None)

    def is_empty(self) -> bool:
        """Tell whether the profile leaves the image's libraries as they are."""
        return not self._directories and not self._named and not self._taken

    def complaints(self, image: ImageLibraries | None) -> Iterator[str]:
        """Yield what is wrong, each with its remedy; without an image only what the host shows."""
        seen: set[str] = set()
        for value in self._named:
            host = self._on_host(value.value)
            if host is not None:
                yield from self._library(host, image, seen)
            elif image is not None and not image.has(value.value):
                yield (
                    f"{value.place}: {value.value} is neither in the image nor in a mount of the profile; mount its "
                    "directory, or name a library of the image"
                )
        for brought in self._injected(image):
            yield from self._library(Path(brought.source), image, seen)
        for directory in self._directories:
            for path in sorted(directory.glob("libmpi*.so.*")):
                yield from self._library(path, image, seen)

    def _library(self, path: Path, image: ImageLibraries | None, seen: set[str]) -> Iterator[str]:
        """Check one library of the host, and those that it needs and the profile brings."""
        try:
            real = path.resolve(strict=True)
            with os.fdopen(open_regular(str(real)), "rb") as stream:
                library = read_library(stream)
        except OSError as exc:
            yield f"{path}: {exc.strerror}; the profile names it or its directory: mend that"
            return
        except NotALibrary as exc:
            yield f"{path} is no shared library ({exc}); the profile names it or its directory: mend that"
            return
        name = library.soname or path.name
        if name in seen:
            return
        seen.add(name)
        if not self._is_shown(real):
            yield f"{path} is a link to {real}, which no mount of the profile shows; mount {real.parent}, too"
        yield from self._abi_complaint(path, library)
        if image is not None:
            yield from self._needs(path, library, image, seen)

    def _abi_complaint(self, path: Path, library: Library) -> Iterator[str]:
        family = FAMILIES.get(library.soname)
        if family and self._abi and family != self._abi.value:
            yield (
                f"{path} has the binary interface of {family}, and the profile says {self._abi.value} "
                f"({self._abi.place}); bring a library of {self._abi.value}, or say abi: {family}"
            )

    def _needs(self, path: Path, library: Library, image: ImageLibraries, seen: set[str]) -> Iterator[str]:
        if library.machine != image.machine:
            yield f"{path} is for {library.machine}, and the image for {image.machine}; bring one for {image.machine}"
            return
        for soname in library.needed:
            if soname in seen:
                continue
            injected = next((Path(one.source) for one in self._injected(image) if one.name == soname), None)
            brought = injected or _first(soname, self._directories + self._own_places(library, path))
            if brought:
                yield from self._library(brought, image, seen)
                continue
            there = image.library(soname)
            if there is None and not LOADER.fullmatch(soname):
                seen.add(soname)
                yield (
                    f"{path} needs {soname}, which neither the image nor a directory of LD_LIBRARY_PATH in the profile "
                    "has; mount it and append its directory"
                )
            elif there is not None:
                missing = [version for version in library.needs.get(soname, []) if version not in there.has]
                if missing and there.has:
                    yield (
                        f"{path} needs {', '.join(sorted(missing))} of {soname}, and the image's has at most "
                        f"{_latest(there.has)}; use an image with a newer {soname}, or the image's own MPI"
                    )

    def _injected(self, image: ImageLibraries | None) -> list[Brought]:
        """What of the host's MPI an image uses: not those of the system for which it has libraries that will do."""

        def has(brought: Brought) -> bool:
            own = image.library(brought.name) if image and brought.system else None
            return own is not None and set(brought.versions) <= set(own.has)

        return [brought for brought in self._taken.libraries if not has(brought)] if self._taken else []

    def _own_places(self, library: Library, path: Path) -> list[Path]:
        """Return the directories that a library itself has its needs looked for in, as far as mounts show them."""
        places = []
        for place in library.runpath:
            before, origin, below = place.partition("$ORIGIN")
            host = path.resolve().parent / below.lstrip("/") if origin and not before else self._on_host(place)
            if host and self._is_shown(host.resolve()):
                places.append(host)
        return places

    def _on_host(self, path: str) -> Path | None:
        """Return what a path in the container is on the host; None where no mount shows it."""
        for mount in self._mounts:
            if Path(path).is_relative_to(mount.target):
                return Path(mount.source, Path(path).relative_to(mount.target))
        return None

    def _is_shown(self, host: Path) -> bool:
        return any(host.is_relative_to(Path(mount.source).resolve()) for mount in self._mounts)


def _first(name: str, places: list[Path]) -> Path | None:
    return next((place / name for place in places if (place / name).exists()), None)


def _latest(versions: list[str]) -> str:
    numbered = [version for version in versions if re.fullmatch(r"[A-Z]+_\d+(\.\d+)*", version)]
    return max(
        numbered, key=lambda version: [int(part) for part in version.partition("_")[2].split(".")], default="none"
    )
