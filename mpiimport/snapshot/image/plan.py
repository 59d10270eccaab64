"""What the process gets that is made into a snapshot: written by the maker, read in the program's interpreter."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Plan:
    """``begin``: what Begin takes; ``is_base``: own code is not in it; ``image``: the file to write; ``words``: the
    interpreter and its options; ``variables``, ``free``, ``files``: of the key; ``generators``: (module, name in it),
    which take a new seed; ``settled``: paths of what no reinitialiser makes new; ``freeze``: the extension module;
    ``without``: reinitialisers that are excluded; ``has_threads``: libraries may have threads, which end in a fork;
    ``has_callbacks``: ctypes may make callbacks; ``has_handlers``: own code has exit handlers; ``names``: top-level
    modules that were looked for; ``beside``: what was beside the program then; ``cores``: imports asked which
    processors are of one core; ``absent``: paths that no start may have; ``entries``: where the program may not lie;
    ``relative``: what was in the directories that entries of the search path are by the current one;
    ``arguments``: those of the program, where imports go by them, or None;
    ``signals``: for which imports have said what is done; ``said``: a file for what came of it; ``key``: by which
    python-mpi knows the program, empty for an image that is no library's.
    """

    begin: "tuple[Any, ...]"
    is_base: bool
    image: str
    words: "list[bytes]"
    variables: "dict[bytes, bytes | None]"
    free: "list[bytes]"
    files: "list[tuple[bytes, int]]"
    generators: "list[tuple[str, str]]"
    settled: "list[str]"
    freeze: str
    without: "tuple[str, ...]"
    has_threads: bool
    has_callbacks: bool
    has_handlers: bool
    names: "list[str]"
    beside: "list[str]"
    cores: bool
    absent: "list[str]"
    entries: "list[str]"
    relative: "dict[str, list[str]]"
    arguments: "list[str] | None"
    signals: "list[int]"
    said: str
    key: bytes

    def __init__(self, **fields: "Any") -> None:
        self.__dict__.update(fields)

    def packed(self) -> bytes:
        """Return what ``loading.take_plan`` reads. Raises AttributeError where a field is missing."""
        import marshal

        return marshal.dumps({name: getattr(self, name) for name in type(self).__annotations__})
