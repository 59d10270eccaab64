"""Sizes of stores, as people write them and as they are shown."""

UNITS = {"MiB": 20, "GiB": 30, "TiB": 40}


class Size(str):
    """Bytes in binary units, such as ``4GiB``, or a share, such as ``50%``."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> "Size":
        """Raises ValueError, which says what would be one."""
        size = cls(text)
        number, unit = (text[:-1], text[-1:]) if size.is_share() else (text[:-3], text[-3:])
        if not is_count(number) or not (unit in UNITS or (size.is_share() and int(number) <= 100)):
            raise ValueError("a size such as 4GiB or 512MiB, or a share such as 50%")
        return size

    def is_share(self) -> bool:
        return self.endswith("%")

    def of(self, whole: int) -> int:
        """Return the bytes; ``whole``: what a share is one of."""
        if not self.is_share():
            return int(self[:-3]) << UNITS[self[-3:]]
        return whole * int(self[:-1]) // 100


def is_count(text: str) -> bool:
    """Tell whether a text is a number above 0."""
    return text.isascii() and text.isdigit() and int(text) > 0


def in_words(length: int) -> str:
    """Return a number of bytes for people; never as nothing."""
    return f"{length >> 20} MiB" if length >> 20 else f"{-(-length >> 10)} KiB"
