"""What a shared library says of itself: its name, what it needs, and the symbol versions it needs and has."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

from .launchers import MPICH, OPENMPI

# By the names that say which binary interface a library has.
FAMILIES = {
    "libmpi.so.12": MPICH,
    "libmpich.so.12": MPICH,
    "libmpi_cray.so.12": MPICH,
    "libmpi.so.20": OPENMPI,
    "libmpi.so.40": OPENMPI,
}


class NotALibrary(ValueError):
    """The file is no ELF shared object."""


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
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    try:
        elf = ELFFile(stream)
        tags = list(_section(elf, ".dynamic").iter_tags())
        return Library(
            soname=next((tag.soname for tag in tags if tag.entry.d_tag == "DT_SONAME"), ""),
            machine=elf.get_machine_arch(),
            needed=[tag.needed for tag in tags if tag.entry.d_tag == "DT_NEEDED"],
            runpath=[place for tag in tags for place in _places(tag)],
            needs={
                need.name: [version.name for version in versions] for need, versions in _versions(elf, ".gnu.version_r")
            },
            has=[version.name for _, versions in _versions(elf, ".gnu.version_d") for version in versions],
        )
    except (ELFError, AttributeError, OSError) as exc:
        raise NotALibrary(str(exc)) from None


def _places(tag: Any) -> list[str]:
    paths = {"DT_RPATH": "rpath", "DT_RUNPATH": "runpath"}
    attribute = paths.get(tag.entry.d_tag)
    return getattr(tag, attribute).split(":") if attribute else []


def _section(elf: "ELFFile", name: str) -> Any:
    return elf.get_section_by_name(name)


def _versions(elf: "ELFFile", section: str) -> list[Any]:
    found = _section(elf, section)
    # The second of a pair runs along the file with the first.
    return [(entry, list(versions)) for entry, versions in found.iter_versions()] if found else []


def family_of(soname: str) -> str:
    """Return the MPI whose binary interface a library with this name has; empty where it is none, or unknown."""
    return FAMILIES.get(soname, "")
