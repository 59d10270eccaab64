"""``mpiimport profile list|show|check|detect|new|export``: site profiles, for people that maintain them."""

import argparse
import os
import sys

from ..planner import candidates, listing, named, plan, values, wrong
from . import profile_check, profile_detect, profile_new

# Names the profile of a launch that names none itself.
VARIABLE = "MPIIMPORT_PROFILE"


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    kinds = commands.add_parser("profile").add_subparsers(required=True, metavar="ACTION")
    parser = kinds.add_parser("list", help="list the profiles that can be named")
    parser.set_defaults(run=lambda given, _: show_list())
    _add_show(kinds)
    profile_check.add_parser(kinds)
    profile_detect.add_parser(kinds)
    profile_new.add_parser(kinds)
    _add_export(kinds)


def _add_show(kinds: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = kinds.add_parser("show", help="print what a profile says, with all that it extends")
    parser.add_argument("profile", metavar="NAME|FILE", nargs="?", help="by default the one that a launch takes here")
    parser.add_argument("--provenance", action="store_true", help="name the file and line that give each value")
    parser.add_argument("--why", action="store_true", help="name those that are not taken here, too, and why not")
    parser.set_defaults(run=lambda given, _: show(given.profile, given.provenance, given.why))


def _add_export(kinds: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = kinds.add_parser("export", help="write a profile in another program's format")
    parser.add_argument("profile", metavar="NAME|FILE")
    parser.add_argument("--cdi", action="store_true", required=True, help="as a CDI specification (JSON)")
    parser.add_argument("--output", metavar="FILE", help="into FILE, not on stdout")
    parser.set_defaults(run=lambda given, _: export(given.profile, given.output))


def show_list() -> int:
    """Print the sound profiles, and name the broken ones. Return 1 where there is one of those."""
    sound, broken = listing()
    print(sound, end="", flush=True)
    for complaint in broken:
        print(f"mpiimport: {complaint}", file=sys.stderr)
    return 1 if broken else 0


def show(profile: str | None, provenance: bool, why: bool) -> int:
    """Print one value a line, and with ``provenance`` where each is said. Return 1 where something is wrong.

    Where no profile is named, say first which one is taken, and with ``why`` for what reason each of the others is not.
    """
    chosen = profile or os.environ.get(VARIABLE) or ""
    said = values(chosen)
    if profile is None and chosen:
        files = [value.file for value in said if value.key == "name"] or list(dict.fromkeys(v.file for v in said))
        print(f"# {chosen}, which {VARIABLE} names: {', '.join(files)}")
    elif profile is None:
        *others, taken = candidates()
        for other in others if why else ():
            print(f"# not {other}")
        print(f"# {taken}")
    for value in said:
        print(f"{value.key}: {value.shown}" + (f"  # {value.place}" if provenance else ""))
    complaints = wrong()
    for complaint in complaints:
        print(f"mpiimport: {complaint}", file=sys.stderr)
    return 1 if complaints else 0


def export(profile: str, output: str | None) -> int:
    """Write the profile as a CDI device, with the settings that suit most runtimes; mpiimport-plan has the others."""
    print(plan("cdi", "--profile", named(profile), *(["--output", output] if output else [])), end="")
    return 0
