"""Programs that are edited between their jobs: a script with a package beside it, and a package that is run."""

from pathlib import Path

from tests.texts import read

from .baked import PROGRAMS
from .published import probed


def _files(name: str) -> dict[str, str]:
    """The files of a program, of which the main one says at its end what it has imported since its snapshot."""
    files = read(PROGRAMS / "edited.txt")[name].further
    return {file: probed(text) if file.endswith(("app.py", "__main__.py")) else text for file, text in files.items()}


SCRIPT = _files("script")
# Run by ``python -m tool``.
TOOL = _files("tool")


# What is in these is no installed package.
OWN = ("model", "settings", "extra", "more", "colorsys", "json", "tool", "__main__")


class Editor:
    """Changes files as editors do: writes into them, or ``renames`` a new one."""

    def __init__(self, place: Path, files: dict[str, str], renames: bool = False) -> None:
        self.place = place
        self._renames = renames
        for name, text in files.items():
            self.write(name, text)

    def write(self, name: str, text: str) -> None:
        path = self.place / name
        path.parent.mkdir(exist_ok=True)
        written = path.with_name(f".{path.name}.new") if self._renames else path
        written.write_text(text)
        written.replace(path)

    def replace(self, name: str, old: str, new: str) -> None:
        text = (self.place / name).read_text()
        assert text.count(old) == 1, (name, old)
        self.write(name, text.replace(old, new))

    def remove(self, *names: str) -> None:
        for name in names:
            path = self.place / name
            if path.is_dir():
                self.remove(*(str(each.relative_to(self.place)) for each in path.iterdir()))
                path.rmdir()
            else:
                path.unlink()
