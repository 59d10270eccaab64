"""Addresses in the values by which interpreters are compared: each process has others."""

import re

# What may be an address: another number in another process, or the same where it is none.
ADDRESS = re.compile(r"<address (\w+)>")
# Below it lies an interpreter that is no PIE, with its heap. In a name such a number is no address: a constant that by
# chance lies in one process's heap would have another name there.
LOW_END = 1 << 32


def blind(text: str) -> str:
    """Return a text without the numbers that may be addresses."""
    return ADDRESS.sub("<address>", text)


def are_alike(one: "str | None", other: "str | None") -> bool:
    """Tell whether two values are the same but for what is an address in both."""
    if one == other or one is None or other is None:
        return one == other
    return blind(one) == blind(other) or ADDRESS.sub(r"\1", one) == ADDRESS.sub(r"\1", other)


def mapped() -> list[tuple[int, int]]:
    """Return begin and end of what this process has mapped where addresses are its own. proc(5), maps."""
    with open("/proc/self/maps") as stream:
        lines = [(line.split(" ", 1)[0].split("-"), line.endswith("[heap]\n")) for line in stream]
    ranges = [(int(start, 16), int(end, 16), is_heap) for (start, end), is_heap in lines]
    # What lies lower, but the heap, is an interpreter that is no PIE, at the same addresses in each process.
    return [(start, end) for start, end, is_heap in ranges if is_heap or start >= LOW_END]
