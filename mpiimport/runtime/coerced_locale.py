"""The locale that an interpreter sets for itself, and so for what it starts: PEP 538."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import MutableMapping

NAME = "LC_CTYPE"


def forget_coerced_locale(environment: "MutableMapping[str, str]") -> None:
    """Take LC_CTYPE from the variables of this process where the interpreter has set it.

    Another interpreter that finds it set is no longer in UTF-8 mode, and so not the one that a user starts (PEP 540).
    """
    if NAME not in environment:
        return
    try:
        with open("/proc/self/environ", "rb") as stream:
            given = stream.read().split(b"\0")
    except OSError:
        # Without /proc nobody knows.
        return
    if not any(entry.startswith(NAME.encode() + b"=") for entry in given):
        del environment[NAME]
