"""The command line of a benchmark: the options that all of them have, and its end where this machine cannot run it."""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from lab.provisioning import CANNOT, Unavailable


def with_prefix(description: str | None) -> argparse.ArgumentParser:
    """Return a parser that knows what is measured, or shown."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", type=_resolved, required=True, help="an installed mpiimport (make install)")
    return parser


def options_of(description: str | None) -> argparse.ArgumentParser:
    """Return a parser that knows where the results go, too. A benchmark adds what is its own."""
    parser = with_prefix(description)
    parser.add_argument("--output", type=Path, required=True, help="where the results go")
    return parser


def add_service_time(parser: argparse.ArgumentParser) -> None:
    """Add how slow the simulated file system is."""
    parser.add_argument("--service-time", type=float, default=0.2, metavar="MS", help="of a metadata operation (0.2)")


def end_with(main: Callable[[], None]) -> NoReturn:
    """Run the benchmark and end. Where this machine cannot run it, print why, with a status that `make bench` knows."""
    # Trees without pycs are compiled at every start, which is not what users have.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    try:
        main()
    except Unavailable as exc:
        print(f"{Path(sys.argv[0]).stem}: {exc}", file=sys.stderr)
        sys.exit(CANNOT)
    sys.exit(0)


def _resolved(path: str) -> Path:
    return Path(path).resolve()
