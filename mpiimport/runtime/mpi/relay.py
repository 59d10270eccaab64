"""A process between the launcher and a rank that becomes another program, run as a script: see pmi_connection.py.

Its arguments are descriptors: of the launcher, of the rank until its MPI has ended, and of the heir, the program that
the rank becomes. The end of the rank's MPI and the start of the heir's stay unheard. An heir that never starts MPI has
ended well, and one that does not end it has crashed.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# Of PMI-1, and the start of PMI-2, which asks for that version.
START, STARTED, WELL = b"cmd=init", b"cmd=response_to_init", b" rc=0\n"
END, ENDED = b"cmd=finalize\n", b"cmd=finalize_ack\n"
CRASH = b"cmd=abort exitcode=1\n"
# Longer than any message; clients send one and wait for its answer.
MOST_AT_ONCE = 65536


def main(launcher: int, rank: int, heir: int) -> None:
    """Relay until the launcher or the heir has closed its end. Raises OSError where the launcher is gone."""
    keep_to_itself({launcher, rank, heir})
    relay(launcher, rank, END, lambda words: ENDED)
    if relay(launcher, heir, START, lambda words: STARTED + words.removeprefix(START).rstrip() + WELL):
        os.write(launcher, CRASH)
    else:
        os.write(launcher, END)
        # Hydra does not expect a client that is gone before it answers.
        os.read(launcher, MOST_AT_ONCE)


def relay(launcher: int, program: int, unheard: bytes, answer: "Callable[[bytes], bytes]") -> bool:
    """Pass messages on until ``program`` has closed its end, and tell whether it said any; end with the launcher.

    ``unheard``: the beginning of a message that is not passed on, but gets this ``answer``.
    """
    import select

    ready = select.poll()
    ready.register(launcher, select.POLLIN)
    ready.register(program, select.POLLIN)
    spoke = False
    while True:
        for side, _ in ready.poll():
            words = os.read(side, MOST_AT_ONCE)
            if side == launcher:
                os.write(program, words) if words else sys.exit()
            elif not words:
                return spoke
            elif words.startswith(unheard):
                os.write(program, answer(words))
                spoke = True
            else:
                os.write(launcher, words)
                spoke = True


def keep_to_itself(ends: set[int]) -> None:
    """Hold nothing else of what the rank had open, and outlast what ends the heir, which may take its time to end."""
    import _signal  # type: ignore[import-not-found]

    # To the whole process group.
    for number in (_signal.SIGHUP, _signal.SIGINT, _signal.SIGTERM):
        _signal.signal(number, _signal.SIG_IGN)
    os.chdir("/")
    for descriptor in map(int, os.listdir("/proc/self/fd")):
        if descriptor > 2 and descriptor not in ends:
            try:
                os.close(descriptor)
            except OSError:
                # It was for the listing itself.
                pass


# The heir is to have no child that it does not know.
if __name__ == "__main__" and os.fork() == 0:
    main(*map(int, sys.argv[1:]))
