"""Images of Apptainer and SingularityCE: running a command in one, and adding files to it."""

import os
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path, PurePath

from ..complaint import Complaint
from .containers import build_line, exec_line

# Where the container sees what is bound for a recording.
PACKAGE_IN_IMAGE, RECORDS_IN_IMAGE = "/mpiimport-bake/lib/mpiimport", "/mpiimport-bake/records"
# Apptainer sets both names; the values keep what the image itself puts on the path.
PYTHONPATH = f"{PACKAGE_IN_IMAGE}/pythonpath${{PYTHONPATH:+:$PYTHONPATH}}"


def open_image(name: str) -> "ImageFile":
    """Return the image file or sandbox with this path. Raises Complaint where there is none."""
    path = Path(name)
    if "://" in name:
        raise Complaint(
            f"{name} is a reference, not a file: pull it first, or bake in its Dockerfile (RUN mpiimport bake -- ...)"
        )
    if not path.exists():
        raise Complaint(f"there is no image {path}")
    return Sandbox(path) if path.is_dir() else ImageFile(path)


class ImageFile:
    """A SIF file, which is never changed: a new one is built from it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def run(self, command: list[str], package: Path, records: Path) -> int:
        """Run ``command`` so that pythons record into ``records``; return its status."""
        binds = [f"--bind={package}:{PACKAGE_IN_IMAGE}:ro", f"--bind={records}:{RECORDS_IN_IMAGE}"]
        settings = {"MPIIMPORT": "1", "MPIIMPORT_RECORD": RECORDS_IN_IMAGE, "PYTHONPATH": PYTHONPATH}
        prefixed = {
            f"{tool}ENV_{name}": value for tool in ("APPTAINER", "SINGULARITY") for name, value in settings.items()
        }
        return _run(exec_line(str(self.path), command, *binds), **prefixed)

    def add(self, files: dict[Path, Path], output: Path | None) -> None:
        """Add files, destination in the image -> source here, and write the image to ``output``, or where it is.

        Raises Complaint, with the image as it was.
        """
        output = output or self.path
        with tempfile.TemporaryDirectory(prefix=".mpiimport-", dir=output.absolute().parent) as directory:
            root, built = Path(directory) / "root", Path(directory) / "image.sif"
            _build("--sandbox", root, self.path)
            Sandbox(root).add(files, None)
            _build("--fix-perms", built, root)
            built.replace(output)


class Sandbox(ImageFile):
    """A directory that holds the root of an image."""

    def add(self, files: dict[Path, Path], output: Path | None) -> None:
        try:
            for destination, source in files.items():
                _add_file(self.path, destination, source.read_bytes())
        except OSError as exc:
            raise Complaint(f"cannot write {exc.filename} in {self.path}: {exc.strerror}") from None


def _build(option: str, made: Path, source: Path) -> None:
    """Convert between image file and directory. Raises Complaint."""
    if _run(build_line(made, source, option)):
        raise Complaint(f"no image could be built from {source}, as said above")


def _run(line: list[str], **settings: str) -> int:
    # Nothing is accelerated: the image is as it was.
    return subprocess.run(line, env={**os.environ, "MPIIMPORT": "0", **settings}).returncode


def _add_file(root: Path, destination: PurePath, content: bytes) -> None:
    """Write a file below ``root``, whose links are the container's and must not lead outside. Raises OSError."""
    place = os.open(root, os.O_PATH | os.O_DIRECTORY)
    try:
        for part in destination.parent.relative_to("/").parts:
            with suppress(FileExistsError):
                os.mkdir(part, dir_fd=place)
            deeper = os.open(part, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=place)
            os.close(place)
            place = deeper
        # Whatever the image has there.
        with suppress(FileNotFoundError):
            os.unlink(destination.name, dir_fd=place)
        fd = os.open(destination.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644, dir_fd=place)
        with os.fdopen(fd, "wb") as stream:
            stream.write(content)
    finally:
        os.close(place)
