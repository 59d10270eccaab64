"""Asks the Python that runs this file what a job of it would use; the answer is one line of JSON after ``MARK``.

Run by its path, on the host or in a container, by whatever Python is there: must parse on any Python 3.
"""

import json
import sys
from pathlib import Path

MARK = "mpiimport-probe: "
# The word that asks for what the launcher and MPI say of this process.
RANK = "rank"
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

        found.update(question.rank() if sys.argv[1:] == [RANK] else question.answers())
    print(MARK + json.dumps(found))


if __name__ == "__main__":
    main()
