"""Whether execve(2) would succeed, from what it looks at: what is done before it cannot be undone where it fails."""

from .. import open, os
from ..regular_file import open_regular

# Of the kernel: the bytes that it reads of a file, the longest string (MAX_ARG_STRLEN), what strings may take in all,
# and how often the interpreter of a script may be a script.
HEADER, LONGEST, MOST, DEPTH = 256, 131072, 6 << 20, 5
ELF, SCRIPT = b"\x7fELF", b"#!"
# Of ELF files: their types, a kind of segment, a class, and machines, of which the first runs the second's programs.
EXECUTABLE, SHARED = 2, 3
INTERPRETER = 3
BITS_64 = 2
X86_64, I386 = 62, 3

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def can_become(path: "Any", argv: "Any", env: "Any" = None) -> bool:
    """Tell whether ``os.execve`` with these arguments would replace this process, as far as that can be seen.

    What cannot be seen is a file that another process writes, want of memory, a security module, and a handler of
    other formats (binfmt_misc).
    """
    try:
        if not isinstance(argv, (list, tuple)) or not argv or not _text(argv[0]):
            return False
        variables = os.environb if env is None else {_text(name): _text(value) for name, value in env.items()}
        words = [_text(word) for word in argv]
        if any(not name or b"=" in name[1:] for name in variables):
            return False
        strings = words + [name + b"=" + value for name, value in variables.items()]
        file = f"/proc/self/fd/{path}".encode() if isinstance(path, int) else _text(path)
        return _fits([*strings, file]) and _runs(file, DEPTH)
    except (AttributeError, OSError, TypeError, ValueError):
        return False


def _text(word: "Any") -> bytes:
    """Return what the kernel is given for a word. Raises TypeError, or ValueError for one that it cannot be given."""
    text = os.fsencode(word)
    if b"\0" in text:
        raise ValueError("embedded null byte")
    return text


def _fits(strings: list[bytes]) -> bool:
    room = min(os.sysconf("SC_ARG_MAX"), MOST)
    # Each has its end and a pointer; an interpreter and its argument may be added.
    taken = sum(len(string) + 9 for string in strings) + 2 * HEADER
    return taken < room and all(len(string) < LONGEST for string in strings)


def _runs(path: bytes, depth: int) -> bool:
    """Raises OSError."""
    # With the rights that count for exec(2).
    if not os.path.isfile(path) or not os.access(path, os.X_OK, effective_ids=True):
        return False
    if os.statvfs(path).f_flag & os.ST_NOEXEC or _is_written_here(os.stat(path)):
        return False
    try:
        descriptor = open_regular(path)
    except PermissionError:
        # A program may be run by who may not read it.
        return True
    try:
        header = os.pread(descriptor, HEADER, 0)
        if header.startswith(SCRIPT):
            words = header[len(SCRIPT) :].split(b"\n", 1)[0].split(None, 1)
            return depth > 0 and bool(words) and _runs(words[0], depth - 1)
        return header.startswith(ELF) and _is_program(descriptor, header)
    finally:
        os.close(descriptor)


def _is_program(descriptor: int, header: bytes) -> bool:
    """Tell whether an ELF file is a program of this machine whose interpreter is there (elf(5))."""
    with open("/proc/self/exe", "rb", 0) as stream:
        own = stream.read(64)
    order = "little" if own[5] == 1 else "big"

    def number(data: bytes, start: int, size: int) -> int:
        return int.from_bytes(data[start : start + size], order)  # type: ignore[arg-type]

    if number(header, 16, 2) not in (EXECUTABLE, SHARED) or len(header) < 52:
        return False
    machine, own_machine = number(header, 18, 2), number(own, 18, 2)
    if header[4:6] != own[4:6] or machine != own_machine:
        return (machine, own_machine) == (I386, X86_64)
    if own[4] != BITS_64:
        return True
    size, count = number(header, 54, 2), number(header, 56, 2)
    table = os.pread(descriptor, size * count, number(header, 32, 8))
    for start in range(0, len(table), size):
        if number(table, start, 4) == INTERPRETER:
            name = os.pread(descriptor, number(table, start + 32, 8), number(table, start + 8, 8)).rstrip(b"\0")
            return os.path.isfile(name) and os.access(name, os.X_OK, effective_ids=True)
    return 0 < size * count == len(table)


def _is_written_here(status: os.stat_result) -> bool:
    """Tell whether this process has a file open for writing, which it then cannot become."""
    return any(_writes(name, status) for name in os.listdir("/proc/self/fd"))


def _writes(descriptor: str, status: os.stat_result) -> bool:
    """Tell whether a descriptor is one for writing the file. proc(5), fdinfo."""
    try:
        if not os.path.samestat(os.fstat(int(descriptor)), status):
            return False
        with open(f"/proc/self/fdinfo/{descriptor}", "rb", 0) as stream:
            words = stream.read().split()
    except OSError:
        # It was for the listing itself.
        return False
    return int(words[words.index(b"flags:") + 1], 8) & os.O_ACCMODE != os.O_RDONLY
