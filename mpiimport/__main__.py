"""``python -m mpiimport``, also installed as ``python-mpi``."""

import sys


def main() -> None:
    from mpiimport.runtime.command import run_command

    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        del sys.path[0]
    run_command(sys.argv[1:], before_site=False, activated=lambda: None)


if __name__ == "__main__":
    main()
