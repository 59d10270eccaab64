"""``python -m mpiimport``, also installed as ``python-mpi``."""

import sys


def main() -> None:
    from mpiimport.runtime.command import run_command

    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        del sys.path[0]
    words = sys.argv[1:]
    ours = sys.orig_argv[: len(sys.orig_argv) - len(words)]
    if "-m" in ours:
        # Loaded by -m alone; plain Python would not have it.
        sys.modules.pop("runpy", None)
        ours = ours[: ours.index("-m")]
    else:
        ours.pop()
    run_command(ours, words, before_site=False, activated=lambda: None)


if __name__ == "__main__":
    main()
