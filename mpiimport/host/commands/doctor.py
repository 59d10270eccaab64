"""``mpiimport doctor``: what a job on this machine would use, what is wrong with it, and whether serving it helps."""

import argparse
import shlex
import textwrap
from pathlib import Path

from mpiimport.runtime.size import in_words

from ..abi.pmi import SLURM, fitting_ways, library_speech, offer, remedy
from ..abi.trial import Trial, trial
from ..complaint import Complaint
from ..machine.entry_points import FLAGGED, FUSE, SHIM, Runtime, image_files_can_be_mounted, runtimes, shim_is_first
from ..machine.launchers import Launcher, family, launchers
from ..machine.trees import Place, Tree, ask_here, ask_image, usual_python
from ..planner import values, wrong
from ..probe.answer import MESSAGE_SIZE
from .doctor_recorded import recorded_starts
from .session import node_cache

WIDTH, LABEL = 110, 12


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "doctor",
        usage="mpiimport doctor [--python PYTHON] [--profile PROFILE] [IMAGE] [-- LAUNCHER...]",
        description="Look at this machine and at the Python tree of IMAGE (an image file or a sandbox directory) or, "
        "without one, of this machine. With a LAUNCHER, such as mpirun -n 2, also start ranks, and send a large "
        "message between two of them. The exit status is 1 where something is wrong.",
    )
    parser.add_argument("image", nargs="?", metavar="IMAGE")
    parser.add_argument("--python", metavar="PYTHON", help="the Python of the jobs (default: python3)")
    parser.add_argument("--profile", metavar="PROFILE", default="", help="with this site profile")
    parser.set_defaults(
        may_take_command=True, run=lambda given, command: doctor(given.image, given.python, given.profile, command)
    )


def doctor(image: str | None, python: str | None, profile: str, launcher: list[str]) -> int:
    """Print the report. Return 1 where something is wrong. Raises Complaint where the profile cannot be used."""
    if profile:
        values(profile)
    report = Report()
    started_by = launchers()
    try:
        tree = ask_image(image, python or "python3", profile) if image else ask_here(python or usual_python(), profile)
    except Complaint as exc:
        report.wrong(str(exc))
    else:
        _describe_python(report, tree)
        _describe_mpi(report, tree, started_by)
        _describe_stores(report, tree)
    if recorded := recorded_starts():
        report.fact("plainly", recorded)
    _describe_launchers(report, started_by)
    _describe_profiles(report)
    _describe_containers(report, image)
    if launcher:
        _describe_ranks(report, image, python, profile, launcher)
    return report.print()


class Report:
    """Lines of facts, then what is wrong, each with its remedy."""

    def __init__(self) -> None:
        self._facts: list[tuple[str, str]] = []
        self._wrong: list[str] = []

    def fact(self, label: str, text: str) -> None:
        self._facts.append((label, text))

    def wrong(self, text: str) -> None:
        self._wrong.append(text)

    def print(self) -> int:
        for label, text in self._facts + [("WRONG", text) for text in self._wrong]:
            print(_wrapped(f"{label:{LABEL}}", text))
        return 1 if self._wrong else 0


def _wrapped(label: str, text: str) -> str:
    """Lines that leave paths whole, so that they can be copied."""
    lines = textwrap.TextWrapper(WIDTH, label, " " * LABEL, break_long_words=False, break_on_hyphens=False)
    return lines.fill(text)


def _describe_python(report: Report, tree: Tree) -> None:
    where = f"tree {tree.prefix} on {tree.file_system}" if tree.file_system else f"tree {tree.prefix}"
    report.fact("python", f"{tree.version}, {tree.python}, {where}")
    if tree.several_nodes:
        report.wrong(f"no job would be served: {tree.several_nodes}")
        return
    report.fact("one node", f"won't help here: {tree.one_node}" if tree.one_node else "would be served")
    report.fact("many nodes", "would be served: one rank reads the tree for all")


def _describe_mpi(report: Report, tree: Tree, started_by: list[Launcher]) -> None:
    if tree.no_mpi:
        report.wrong(tree.no_mpi)
    if not tree.mpi4py:
        return
    whose = "mpiimport's own, the tree has none" if tree.mpi4py_is_ours else "the tree's"
    report.fact("mpi4py", f"{tree.mpi4py_version}, {tree.mpi4py} ({whose})")
    speaks = family(tree.mpi)
    report.fact("libmpi", f"{tree.mpi}, ABI of {speaks or 'an unknown MPI'}, {tree.libmpi}")
    first = started_by[0] if started_by else None
    if first and first.family and speaks and first.family != speaks:
        report.wrong(
            f"{first.path} starts jobs of {first.family}, and the library is {speaks}'s: every rank would be 0 of 1. "
            f"Put the mpiexec of {speaks} first on PATH, or name a library of {first.family} with MPI4PY_LIBMPI"
        )
    _describe_pmi(report, tree, [launcher for launcher in started_by if launcher.family in ("", speaks)])


def _describe_pmi(report: Report, tree: Tree, started_by: list[Launcher]) -> None:
    """By what launchers tell ranks of each other, and whether the library understands that."""
    wanted = library_speech(tree.mpi, tree.pmix)
    if wanted is None:
        return
    offers = [found for found in map(offer, started_by) if found]
    facts = [f"the library speaks {wanted}"]
    for offered in offers:
        ways = fitting_ways(offered, wanted)
        if offered.launcher == SLURM:
            facts.append(f"{SLURM} offers {', '.join(offered.ways)}" + (f": {SLURM} --mpi={ways[0]}" if ways else ""))
        else:
            facts.append(f"{offered.launcher} speaks {offered.ways['']}")
    # Whoever has another launcher, too, uses the other.
    if offers and not any(fitting_ways(offered, wanted) for offered in offers):
        report.wrong(
            f"no launcher here speaks what {tree.libmpi} does, {wanted}: every rank would be 0 of 1; "
            f"{remedy(None, wanted)}"
        )
    report.fact("pmi", "; ".join(facts))


def _describe_stores(report: Report, tree: Tree) -> None:
    usable = [place for place in tree.stores if not place.refusal]
    for place in usable[:1]:
        report.fact("store", _store(place, tree.memory_left))
    if tree.stores and not usable:
        for place in tree.stores:
            report.wrong(place.refusal)
    _describe_cached_stores(report, tree)


def _describe_cached_stores(report: Report, tree: Tree) -> None:
    try:
        place = node_cache()
        stores = place.stores() if place else []
        if place and stores:
            report.fact("cache", f"stores: {len(stores)}, {in_words(place.size())}, in {place.directory}")
        elif not tree.not_cached:
            report.fact("cache", "no stores yet; MPIIMPORT_CACHE=auto keeps them")
    except (Complaint, OSError):
        # What is wrong with options the tree's own Python has said; others may remove the place meanwhile.
        stores = []
    if tree.not_cached and not stores:
        report.fact("cache", f"no stores can be kept: {tree.not_cached}")


def _store(place: Place, memory_left: int | None) -> str:
    libraries = "" if place.executable else ", noexec: libraries are loaded from where they lie"
    limit = "no memory limit" if memory_left is None else f"the memory limit leaves {in_words(memory_left)}"
    return f"{place.place}, {place.kind}, {in_words(place.free)} free, {limit}{libraries}"


def _describe_launchers(report: Report, started_by: list[Launcher]) -> None:
    if started_by:
        report.fact("launcher", "; ".join(f"{launcher.version}, {launcher.path}" for launcher in started_by))
    else:
        report.wrong("no launcher (mpiexec, mpirun, srun, ...) is on PATH: load the module of the MPI")


def _describe_profiles(report: Report) -> None:
    try:
        for complaint in wrong():
            report.wrong(complaint)
    except Complaint as exc:
        report.wrong(str(exc))


def _describe_ranks(report: Report, image: str | None, python: str | None, profile: str, launcher: list[str]) -> None:
    """Start ranks, as a job would."""
    try:
        tried = trial(profile, image, launcher, python)
    except Complaint as exc:
        tried = Trial([str(exc)])
    for complaint in tried.wrong:
        report.wrong(complaint)
    if not tried.wrong:
        sent = f"{in_words(MESSAGE_SIZE)} arrive where one sends them to its neighbour"
        said = f"{tried.ranks} start, and {sent}" if tried.ranks > 1 else "it starts; name two for a large message"
        report.fact("ranks", f"{shlex.join(launcher)}: {said}")


def _describe_containers(report: Report, image: str | None) -> None:
    found = runtimes()
    report.fact("containers", "; ".join(map(_runtime, found)) or "no runtime is on PATH")
    if shim_is_first():
        report.fact("entry point", f"--mpiimport by the shim in {SHIM}")
    elif any(runtime.plugin for runtime in found):
        report.fact("entry point", "--mpiimport by the plugin")
    elif any(runtime.name in FLAGGED for runtime in found):
        report.fact("entry point", f"no --mpiimport yet: export PATH={SHIM}:$PATH, or load the module mpiimport")
    for runtime in found:
        # A plugin that does not load makes all commands fail, but not `plugin list`.
        if runtime.plugin and not runtime.version:
            report.wrong(
                f"{runtime.path} does not start, and has the plugin: `mpiimport plugin check --runtime {runtime.path}` "
                "disables it where that is why"
            )
    mountable = image_files_can_be_mounted()
    report.fact("fuse", f"{FUSE} {'can' if mountable else 'cannot'} be opened")
    if image and Path(image).is_file() and not mountable:
        report.wrong(
            f"{FUSE} cannot be opened, so that every start may unpack the whole of {image}: ask an administrator for "
            "mode 0666 on it, or build a sandbox directory from the image"
        )


def _runtime(runtime: Runtime) -> str:
    return f"{runtime.version or 'unknown version'}, {runtime.path}"
