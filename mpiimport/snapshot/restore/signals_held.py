"""What no signal may interrupt: a handler of Python would raise in it."""

from _signal import SIG_BLOCK, SIG_SETMASK, pthread_sigmask, valid_signals  # type: ignore[import-not-found]


class SignalsHeld:
    """While this context lasts this thread handles no signal: what a handler raises is for the program."""

    def __enter__(self) -> None:
        self._before = pthread_sigmask(SIG_BLOCK, valid_signals())

    def __exit__(self, *failure: object) -> None:
        pthread_sigmask(SIG_SETMASK, self._before)
