"""How damage to what lies in a store is noticed: a SipHash (``_imp.source_hash``) of DIGEST_SIZE bytes."""

import _imp

# Of the store. It is part of each digest, so that what is of another format counts as damaged.
FORMAT = 9
DIGEST_SIZE = 8
_KEY = 0x6D706969 << 32 | FORMAT


class Damaged(Exception):
    """The data is not what root wrote."""


def digest(data: "bytes | memoryview") -> bytes:
    """Return the SipHash by which damage is detected; it is no protection against forgery."""
    return _imp.source_hash(_KEY, data)
