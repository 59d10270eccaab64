"""Asks the Python that runs this file what a job of it would use; the answer is one line of JSON after ``MARK``.

Run by its path, on the host or in a container, by whatever Python is there: must parse on any Python 3.
"""

import json
import os
import sys
from pathlib import Path

MARK = "mpiimport-probe: "
# The words that ask for what the launcher and MPI say of this process, and for a large message to another rank.
RANK, MESSAGE = "rank", "message"
# In bytes: so large that MPIs copy it from the memory of one process to that of another.
MESSAGE_SIZE = 8 << 20
PACKAGES = str(Path(__file__).resolve().parents[3])


def main():  # type: () -> None
    # Imports of the program's directory are not ours to answer for.
    sys.path[0] = PACKAGES
    found = {"python": sys.executable, "version": "%d.%d.%d" % sys.version_info[:3], "prefix": sys.prefix}  # type: dict[str, object]
    from mpiimport.served_pythons import why_not

    reason = why_not()
    if reason:
        found["several_nodes"] = reason
    else:
        from mpiimport.host.probe import question

        word = "".join(sys.argv[1:])
        if word == MESSAGE:
            found.update(question.message(MESSAGE_SIZE))
        else:
            found.update(question.rank() if word == RANK else question.answers())
    print(MARK + json.dumps(found), flush=True)
    if "failed" in found:
        # The other rank may wait for this one. A launcher ends all where one ends so.
        os._exit(1)


if __name__ == "__main__":
    main()
