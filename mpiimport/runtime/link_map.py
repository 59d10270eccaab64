"""What ld.so tells of the libraries that it has mapped into this process: their names (dlinfo(3), link.h)."""

from . import os
from .c_functions import address, ctypes_core, open_library

# dlinfo(3): the entry that belongs to a handle.
RTLD_DI_LINKMAP = 2
# What glibc has for itself of an entry (its include/link.h): the entry, its namespace, and further names.
PRIVATE = ("l_real", "l_ns", "l_libname")
# All of an entry, in words of 8 bytes, for any version of glibc; behind it are names.
WORDS = 136

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class LinkMap:
    """The names of mapped libraries, as C code gets them and as ``dlopen`` compares them with what it is asked for.

    A library that has been unmapped meanwhile still counts. Raises OSError where ld.so tells nothing. Threads may ask
    at once: no method works on what another thread may replace before it ends.
    """

    def __init__(self) -> None:
        library = ctypes_core()
        self._library = library
        self._pointer: Any = type("pointer", (library._SimpleCData,), {"_type_": "P"})
        text = type("text", (library._SimpleCData,), {"_type_": "z"})
        public = ("l_addr", self._pointer), ("l_name", text), ("l_ld", self._pointer), ("l_next", self._pointer)
        private = (("l_prev", self._pointer), *((name, self._pointer) for name in PRIVATE))
        self._entry: Any = type("link_map", (library.Structure,), {"_fields_": (*public, *private)})
        word = type("word", (library._SimpleCData,), {"_type_": "L"})
        self._words: Any = type("words", (library.Array,), {"_type_": word, "_length_": WORDS})
        parts = ("name", self._pointer), ("next", self._pointer), ("dont_free", self._pointer)
        self._further_name: Any = type("libname_list", (library.Structure,), {"_fields_": parts})
        program = open_library(None)
        self._dlinfo = self._function(program, "dlinfo", type("integer", (library._SimpleCData,), {"_type_": "i"}))
        self._strdup = self._function(program, "strdup", self._pointer)
        self._malloc = self._function(program, "malloc", self._pointer)
        # All before this entry are known. It stays where it is: the program's, then those of libraries never closed.
        self._last = self._of(program)
        self._names: set[str] = set()

    def names(self) -> frozenset[str]:
        """Return the names of all libraries; each is read once."""
        entry = self._last
        while entry:
            found = self._entry.from_address(entry)
            self._names.add(os.fsdecode(found.l_name or b""))
            entry = found.l_next
        return frozenset(self._names)

    def rename(self, handle: int, name: str) -> None:
        """Give a library, whose handle is never closed, another name: what it would have been opened by."""
        self.names()
        entry = self._of(handle)
        # ld.so frees a library's name with it, so it has to be the C library's. The former one may be in use.
        copy = self._strdup(os.fsencode(name))
        self._pointer.from_address(entry + self._entry.l_name.offset).value = copy
        self._names.add(name)
        self._last = entry

    def add_name(self, handle: int, name: str) -> bool:
        """Have ``dlopen`` know a library, whose handle is never closed, by a further name; tell whether it does.

        These names are glibc's own matter: an entry that is not one of its is left as it is.
        """
        self.names()
        entry = self._of(handle)
        found = self._entry.from_address(entry)
        if not self._is_as_expected(entry):
            return False
        added = self._malloc(self._library.sizeof(self._further_name))
        further, first = (self._further_name.from_address(place) for place in (added, found.l_libname))
        further.name, further.next, further.dont_free = self._strdup(os.fsencode(name)), first.next, 1
        # Whoever walks the list meanwhile sees all of it.
        first.next = added
        self._names.add(name)
        self._last = entry
        return True

    def stand_for(self, handle: int, own: tuple[int, int], other: tuple[int, int]) -> None:
        """Have ``dlopen`` take a library for another file, by whichever path it comes to that.

        ``own``, ``other``: device and inode. glibc compares the pair that it has kept of each entry, which is found by
        what it is: an entry with it at no place, or at two, is left as it is.
        """
        entry = self._of(handle)
        if not self._is_as_expected(entry):
            return
        words = self._words.from_address(entry)
        found = [place for place in range(WORDS - 1) if (words[place], words[place + 1]) == own]
        if len(found) == 1:
            words[found[0]], words[found[0] + 1] = other

    def _is_as_expected(self, entry: int) -> bool:
        """Tell whether an entry is one of glibc's."""
        found = self._entry.from_address(entry)
        return found.l_real == entry and not found.l_ns and bool(found.l_libname)

    def _of(self, handle: int) -> int:
        entry = self._pointer()
        library = self._library
        if self._dlinfo(self._pointer(handle), RTLD_DI_LINKMAP, library.byref(entry)) or not entry.value:
            raise OSError("dlinfo does not tell what ld.so calls its libraries")
        known: int = entry.value
        return known

    def _function(self, handle: int, name: str, returned: "Any") -> "Any":
        """Return a function of the C library, ``returned`` by its kind. Raises OSError where there is none."""
        where = address(handle, name)
        if not where:
            raise OSError(f"the C library has no {name}")
        kind = {"_flags_": self._library.FUNCFLAG_CDECL, "_restype_": returned}
        return type(name, (self._library.CFuncPtr,), kind)(where)
