"""Virtual environments made for one test, with mpi4py and with libraries of an MPI in chosen places."""

import sys
from pathlib import Path

import mpi4py

from .ranks import Mpi


class Installation:
    """A virtual environment with mpi4py, and places in which libraries of an MPI can be put."""

    def __init__(self, directory: Path) -> None:
        self.home = directory / "environment"
        self.user = directory / "user"
        self.python = self.home / "bin" / "python"
        packages = self.home / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
        self.mpi4py = packages / "mpi4py"
        for place in (self.python.parent, packages, self.user / "lib"):
            place.mkdir(parents=True)
        self.python.symlink_to(Path(sys._base_executable))  # type: ignore[attr-defined]
        self.mpi4py.symlink_to(Path(mpi4py.__file__).parent)
        self.open_to_system(False)

    def open_to_system(self, answer: bool) -> None:
        home = Path(sys._base_executable).parent  # type: ignore[attr-defined]
        text = f"home = {home}\ninclude-system-site-packages = {str(answer).lower()}\n"
        (self.home / "pyvenv.cfg").write_text(text)

    def put(self, mpi: Mpi, place: Path) -> None:
        """Put the libraries of ``mpi`` into ``place``/lib, beside what is there."""
        for path in mpi.library.parent.iterdir():
            if not path.name.startswith("python"):
                (place / "lib" / path.name).symlink_to(path)

    def change(self, name: str, text: str) -> None:
        """Give the file ``name`` of mpi4py another end."""
        original = self.mpi4py.resolve()
        self.mpi4py.unlink()
        self.mpi4py.mkdir()
        for path in original.iterdir():
            if path.name not in (name, "__pycache__"):
                (self.mpi4py / path.name).symlink_to(path)
        (self.mpi4py / name).write_text((original / name).read_text() + text)
