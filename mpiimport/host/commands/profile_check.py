"""``mpiimport profile check``: whether a profile fits this machine, an image, and the launcher."""

import argparse
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ..abi.image_libraries import ImageLibraries
from ..abi.injection import PLACE, Injection
from ..abi.pmi import SLURM, fits, library_speech, offer, remedy
from ..abi.trial import trial
from ..machine.launchers import family, launcher
from ..machine.trees import Tree, ask_image
from ..planner import Plan, Value, named, resolved, values, wrong

WRONG = 1
# The keys of a profile that name files of the host: the key of an entry that has the path, and what is said without it.
BROUGHT = {
    "mounts": ("source", "the mount source {} does not exist on this host; mend the path"),
    "devices": (
        "path",
        "no device node of this host is called {}; mend the path (/dev/infiniband/* names all in a directory)",
    ),
}


def add_parser(kinds: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = kinds.add_parser(
        "check",
        help="say what of a profile does not fit this machine, an image or a launcher",
        usage="mpiimport profile check [--image IMAGE] NAME|FILE [-- LAUNCHER...]",
        description="Read the profile, look for what it mounts, and compare the libraries it brings with IMAGE. With a "
        "LAUNCHER, such as mpirun -n 2, also start ranks and compare what it and MPI say of them. The exit status is 1 "
        "where something is wrong.",
    )
    parser.add_argument("profile", metavar="NAME|FILE")
    parser.add_argument("--image", metavar="IMAGE", help="an image file or a sandbox directory")
    parser.set_defaults(may_take_command=True, run=lambda given, command: check(given.profile, given.image, command))


def check(profile: str, image: str | None, started_by: list[str]) -> int:
    """Print what the profile's variables are here, then what is wrong, one complaint a line, each with its remedy.

    Return 1 where something is wrong.
    """
    said = values(profile)
    for value in said:
        if value.here is not None or value.left_out:
            print(f"{value.place}: {value.key}: {value.shown}")
    # What a launch from here would take.
    said = [replace(value, value=value.taken) for value in said if not value.left_out]
    found = [*complaints(said, profile, image), *wrong()]
    if started_by and not found:
        found = trial(named(profile), image, started_by).wrong
    for complaint in found:
        print(complaint)
    checked = [f"{len(said)} values", *([image] if image else []), *([shlex.join(started_by)] if started_by else [])]
    if not found:
        print(f"{profile}: nothing is wrong ({', '.join(checked)})")
    return WRONG if found else 0


def complaints(said: list[Value], profile: str, image: str | None) -> Iterator[str]:
    """Yield what is wrong with a profile on this machine and, where one is given, with an image."""
    missing = [value for value in said if value.key in BROUGHT and not _is_there(value.value)]
    for value in missing:
        key, wrong = BROUGHT[value.key]
        said_so = wrong.format(value.value[key])
        yield f"{value.place}: {said_so}, or add `optional: true` if not every node has it"
    if missing:
        return
    plan = resolved(profile)
    if plan.taken:
        print(plan.taken.in_words())
    injection = Injection(said, plan)
    found = list(injection.complaints(ImageLibraries(image) if image and not injection.is_empty() else None))
    yield from found
    # What has a cause that is known by now need not be tried.
    if image and not found:
        yield from _loaded(said, plan, profile, image)


def _is_there(brought: dict[str, str]) -> bool:
    if brought.get("optional"):
        return True
    if "path" in brought:
        return any(file.is_char_device() or file.is_block_device() for file in Path("/").glob(brought["path"][1:]))
    source = brought["source"]
    return Path(source).exists() if "target" in brought else any(Path("/").glob(source[1:]))


def _loaded(said: list[Value], plan: Plan, profile: str, image: str) -> Iterator[str]:
    """Compare the MPI that the image's Python loads under the profile with the one that it is made for."""
    tree = ask_image(image, "python3", named(profile))
    if tree.no_mpi:
        yield f"{image}: {tree.no_mpi}"
        return
    yield from _spoken(said, tree)
    abi = next((value for value in said if value.key == "mpi.abi"), None)
    loaded = family(tree.mpi)
    if plan.taken and not tree.libmpi.startswith(f"{PLACE}/"):
        yield (
            f"{image}: its Python loads {tree.libmpi} in spite of mpi.inject, for it is linked to that file or "
            "names it; use an image whose mpi4py finds its MPI by name, as mpi4py's binary wheel does, and leave out "
            "mpi.library"
        )
    if abi and loaded and loaded != abi.value:
        yield (
            f"{image}: its Python loads {tree.libmpi} ({tree.mpi}), and the profile is made for {abi.value} "
            f"({abi.place}); use a profile for {loaded}, or name the library with mpi.library"
        )


def _spoken(said: list[Value], tree: Tree) -> Iterator[str]:
    """Compare what the launcher of the profile speaks, as it is called there, with what the library does."""
    prefix = next((value for value in said if value.key == "launcher.prefix"), None)
    path = shutil.which(prefix.value[0]) if prefix and prefix.value else None
    wanted = library_speech(tree.mpi, tree.pmix)
    offered = offer(launcher(path)) if path and wanted else None
    if prefix is None or wanted is None or offered is None:
        return
    way = next((word.partition("=")[2] for word in prefix.value if word.startswith("--mpi=")), "")
    if offered.launcher == SLURM and not way:
        # The site's configuration says which.
        return
    speech = offered.ways.get(way)
    library = f"{tree.libmpi} speaks {wanted}"
    if speech is None:
        ways = ", ".join(offered.ways)
        yield f"{prefix.place}: {path} has no --mpi={way}; it has {ways}. {library}: {remedy(offered, wanted)}"
    elif not fits(speech, wanted):
        asked = f"{path} --mpi={way}" if way else path
        yield (
            f"{prefix.place}: {asked} speaks {speech}, and {library}: every rank would be 0 of 1; "
            f"{remedy(offered, wanted)}"
        )
