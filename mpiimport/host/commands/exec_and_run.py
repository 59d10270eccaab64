"""``mpiimport exec`` and ``mpiimport run`` as the help names them; a static binary does the work (``__main__.py``)."""

import argparse

COMMANDS = {
    "exec": "run a command in an image, accelerated",
    "run": "start a job's launcher, with the profile resolved once for all its containers",
}


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    for name, meaning in COMMANDS.items():
        parser = commands.add_parser(name, help=meaning)
        parser.add_argument("words", nargs=argparse.REMAINDER)
        parser.set_defaults(may_take_command=True)
