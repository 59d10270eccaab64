"""``mpiimport shim-path``: where the shim lies, which a wheel puts into the depths of an environment."""

import argparse

from ..machine.entry_points import SHIM


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("shim-path")
    parser.set_defaults(run=lambda given, _: shim_path())


def shim_path() -> int:
    print(SHIM)
    return 0
