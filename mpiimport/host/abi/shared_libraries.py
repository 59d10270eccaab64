"""What a shared library says of itself: its name, what it needs, and the symbol versions it needs and has."""

import os
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

from ..machine.launchers import MPICH, OPENMPI

# By the names that say which binary interface a library has.
FAMILIES = {
    "libmpi.so.12": MPICH,
    "libmpich.so.12": MPICH,
    "libmpi_cray.so.12": MPICH,
    "libmpi.so.20": OPENMPI,
    "libmpi.so.40": OPENMPI,
}


# In bytes: the smallest header of a section, and an entry of a table of versions.
SECTION, VERSION = 40, 16


class NotALibrary(ValueError):
    """The file is no ELF shared object, or a damaged one."""


@dataclass(frozen=True)
class Library:
    """``needed``: sonames; ``needs``: symbol versions by the soname of the library that has to have them; ``has``: its
    own symbol versions."""

    soname: str
    machine: str
    needed: list[str]
    runpath: list[str]
    needs: dict[str, list[str]]
    has: list[str]


def read_library(stream: BinaryIO) -> Library:
    """Raises NotALibrary."""
    # Not needed where a profile brings no library.
    from elftools.elf.elffile import ELFFile

    try:
        elf = ELFFile(stream)
        length = stream.seek(0, os.SEEK_END)
        if elf.num_sections() > length // SECTION:
            raise NotALibrary("the table of its sections is longer than the file")
        tags = list(_section(elf, ".dynamic").iter_tags())
        return Library(
            soname=next((tag.soname for tag in tags if tag.entry.d_tag == "DT_SONAME"), ""),
            machine=elf.get_machine_arch(),
            needed=[tag.needed for tag in tags if tag.entry.d_tag == "DT_NEEDED"],
            runpath=[place for tag in tags for place in _places(tag)],
            needs={
                need.name: [version.name for version in versions]
                for need, versions in _versions(elf, ".gnu.version_r", length)
            },
            has=[version.name for _, versions in _versions(elf, ".gnu.version_d", length) for version in versions],
        )
    except NotALibrary:
        raise
    # The parser believes all numbers of a file, and fails by them in as many ways.
    except Exception as exc:
        raise NotALibrary(str(exc) or type(exc).__name__) from None


def _places(tag: Any) -> list[str]:
    paths = {"DT_RPATH": "rpath", "DT_RUNPATH": "runpath"}
    attribute = paths.get(tag.entry.d_tag)
    return getattr(tag, attribute).split(":") if attribute else []


def _section(elf: "ELFFile", name: str) -> Any:
    return elf.get_section_by_name(name)


def _versions(elf: "ELFFile", section: str, length: int) -> list[Any]:
    """Raises NotALibrary where entries lead in circles: more than the file, of ``length`` bytes, has room for."""
    table = _section(elf, section)
    found, room = [], length // VERSION
    for entry, versions in table.iter_versions() if table else ():
        # The second of a pair runs along the file with the first.
        names = list(islice(versions, room))
        room -= 1 + len(names)
        if room < 0:
            raise NotALibrary(f"its table {section} has no end")
        found.append((entry, names))
    return found
