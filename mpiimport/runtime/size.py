"""Sizes of stores, as people write them and as they are told."""

UNITS = {"MiB": 20, "GiB": 30, "TiB": 40}


class Size(str):
    """Bytes in binary units, such as ``4GiB``, or a share, such as ``50%``. Where it ``is_valid``, that is."""

    __slots__ = ()

    def is_valid(self) -> bool:
        number, unit = (self[:-1], self[-1:]) if self.is_share() else (self[:-3], self[-3:])
        return is_count(number) and (unit in UNITS or (self.is_share() and int(number) <= 100))

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
