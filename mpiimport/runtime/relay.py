"""A process between the launcher and a rank that becomes another program, run as a script: see pmi.py.

Its arguments are descriptors: of the launcher, of the rank until its MPI has ended, and of the heir, the program that
the rank becomes. The end of the rank's MPI and the start of the heir's stay unheard. An heir that never starts MPI has
ended well, and one that does not end it has crashed.
"""

import os
import sys

START, STARTED = b"cmd=init ", b"cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"
END, ENDED = b"cmd=finalize\n", b"cmd=finalize_ack\n"
CRASH = b"cmd=abort exitcode=1\n"
# Longer than any message; clients send one and wait for its answer.
ROOM = 65536


def main(launcher: int, rank: int, heir: int) -> None:
    """Relay until the launcher or the heir has closed its end. Raises OSError where the launcher is gone."""
    keep_to_itself({launcher, rank, heir})
    relay(launcher, rank, {END: ENDED})
    starts = {START: STARTED}
    relay(launcher, heir, starts)
    if starts:
        os.write(launcher, END)
        # Hydra does not expect a client that is gone before it answers.
        os.read(launcher, ROOM)
    else:
        os.write(launcher, CRASH)


def relay(launcher: int, program: int, answers: dict[bytes, bytes]) -> None:
    """Pass messages on until ``program`` has closed its end; end with the launcher.

    ``answers``: what is said to a message that begins with the key, instead of passing it on, once.
    """
    import select

    ready = select.poll()
    ready.register(launcher, select.POLLIN)
    ready.register(program, select.POLLIN)
    while True:
        for side, _ in ready.poll():
            words = os.read(side, ROOM)
            known = next(filter(words.startswith, answers), None)
            if not words:
                if side == program:
                    return
                sys.exit()
            elif side == launcher:
                os.write(program, words)
            elif known:
                os.write(program, answers.pop(known))
            else:
                os.write(launcher, words)


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
