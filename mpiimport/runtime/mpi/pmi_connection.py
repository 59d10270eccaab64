"""The connection to a launcher that speaks PMI-1, where a rank ends or becomes another program at once.

Hydra takes a connection that is closed without the word for the end of MPI for a crash, and kills the ranks that still
run. MPICH has an exit handler in C say that word, which neither ``os._exit`` nor ``exec`` runs. Intel MPI says it in
MPI_Finalize, whereupon Hydra hangs up, and Slurm does not answer a second start: a program that the rank becomes could
start no MPI.
"""

import sys

from .. import PACKAGE_DIRECTORY, os
from ..open_file import OpenFile
from .launcher import number
from .relay import END, MOST_AT_ONCE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# The connection's number, or where MPI is to connect to by itself, at each start anew (mpiexec -pmi-port).
CONNECTION, ADDRESS = "PMI_FD", "PMI_PORT"
# Set by Hydra alone.
HYDRA = "MPI_LOCALRANKID"


class Connection:
    """The rank's connection to its launcher, if it has one. To be made before MPI is started."""

    def __init__(self) -> None:
        given = number(CONNECTION)
        self._file = OpenFile(-1 if given is None else given)

    def end(self) -> None:
        """Say that MPI has ended well, to a launcher that minds. Does nothing where that has been said."""
        if HYDRA in os.environ:
            own = [self._file.descriptor] if self._file.is_open() else _connected(os.environ.get(ADDRESS, ""))
            for descriptor in own:
                _say_end(descriptor)

    def leave_to_heir(self, finalize: "Callable[[], None]") -> None:
        """Call ``finalize`` such that the program that this process is about to become can start MPI, and need not."""
        relayed = self._relayed() if self._file.is_open() else None
        finalize()
        if relayed is None:
            self.end()
        else:
            os.dup2(relayed, self._file.descriptor)
            os.close(relayed)

    def _relayed(self) -> int | None:
        """Put a relay between the launcher and this process.

        Return what takes the place of the connection once MPI has ended; None where there can be no relay.
        """
        from _socket import socketpair

        rank, its_far_end, heir, heirs_far_end = (end.detach() for _ in range(2) for end in socketpair())
        ends = [self._file.descriptor, its_far_end, heirs_far_end]
        python = sys.executable or ""
        words = [python, "-I", "-S", f"{PACKAGE_DIRECTORY}/runtime/mpi/relay.py", *map(str, ends)]
        nothing = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in range(3)]
        try:
            for end in ends:
                os.set_inheritable(end, True)
            if _ends_well(os.posix_spawn(python, words, os.environ, file_actions=nothing)):
                os.dup2(rank, self._file.descriptor)
                return heir
        except (OSError, ValueError):
            pass
        finally:
            for end in (rank, its_far_end, heirs_far_end):
                os.close(end)
        os.close(heir)
        return None


def _ends_well(child: int) -> bool:
    """Wait for a child. A process that ignores SIGCHLD never learns how it ended."""
    try:
        return os.waitpid(child, 0)[1] == 0
    except ChildProcessError:
        return True


def _say_end(descriptor: int) -> None:
    try:
        os.write(descriptor, END)
        os.read(descriptor, MOST_AT_ONCE)
    except OSError:
        pass


def _connected(address: str) -> list[int]:
    """Return the descriptors of this process's connections to ``address``, a host and a port."""
    host, _, port = address.rpartition(":")
    if not host:
        return []
    from _socket import getaddrinfo

    try:
        addresses = {entry[4][:2] for entry in getaddrinfo(host, port)}
        descriptors = [int(name) for name in os.listdir("/proc/self/fd")]
    except OSError:
        return []
    return [descriptor for descriptor in descriptors if _peer(descriptor) in addresses]


def _peer(descriptor: int) -> object:
    from _socket import socket

    try:
        end = socket(fileno=descriptor)
    except OSError:
        return None
    try:
        return end.getpeername()[:2]
    except OSError:
        return None
    finally:
        end.detach()
