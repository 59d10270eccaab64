"""Where ld.so's cache says a library is: ``/etc/ld.so.cache`` in the format of glibc 2.2 and newer (ldconfig(8))."""

from .module_code import read_file

CACHE = "/etc/ld.so.cache"
MAGIC = b"glibc-ld.so.cache1.1"
HEADER, ENTRY = 48, 24


def cached_libraries(path: str = CACHE) -> dict[str, list[str]]:
    """Map names of libraries to their files; empty where there is no cache in this format.

    A name with several files has variants for processors or machines; only ld.so knows which it takes.
    """
    try:
        data = read_file(path)
    except OSError:
        return {}
    # The format before it may still stand in front.
    data = data[max(data.find(MAGIC), 0) :]
    if not data.startswith(MAGIC):
        return {}
    found: dict[str, list[str]] = {}
    count = int.from_bytes(data[20:24], "little")
    for start in range(HEADER, min(HEADER + count * ENTRY, len(data)), ENTRY):
        name = _string(data, int.from_bytes(data[start + 4 : start + 8], "little"))
        found.setdefault(name, []).append(_string(data, int.from_bytes(data[start + 8 : start + 12], "little")))
    return found


def _string(data: bytes, offset: int) -> str:
    return data[offset : data.find(b"\0", offset)].decode(errors="surrogateescape")
