"""``mpiimport`` of a wheel, also ``python -m mpiimport.host``. Every rank may call it, so little is imported here."""

import os
import sys

from mpiimport.runtime import PREFIX
from mpiimport.runtime.coerced_locale import forget_coerced_locale


def main() -> int:
    """Run one subcommand and return the exit status; for those that every rank may call, become the binary."""
    # What is started from here is to be as where a user starts it.
    forget_coerced_locale(os.environ)
    if sys.argv[1:2] in (["exec"], ["run"]):
        binary = os.path.join(PREFIX, "bin", "mpiimport")  # noqa: PTH118
        try:
            os.execv(binary, [binary, *sys.argv[1:]])
        except OSError as exc:
            print(f"mpiimport: cannot run {binary}: {exc.strerror}; is the installation complete?", file=sys.stderr)
            return 1
    from .cli import main as understand_and_run

    return understand_and_run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
