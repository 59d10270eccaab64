"""PMI and PMIx, by which launchers tell ranks of each other: what a launcher offers, what a library speaks, and whether
these two go together."""

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from ..machine.launchers import MPICH, OPENMPI, Launcher, family

PMI, PMIX = "PMI-1 and PMI-2", "PMIx"
SECONDS = 60
# Slurm's plugins; cray_shasta is for Cray's own PMI.
PLUGIN = re.compile(r"\b(pmi2|pmix(?:_v[0-9]+)?|cray_shasta)\b")
SLURM = "srun"
# These take PMI from a library that the site names.
ELSEWHERE = re.compile("intel|cray", re.IGNORECASE)
# Before these, in their series, a PMIx works with its own series alone; all later ones work with each other.
FIRST_TO_CROSS = {(1, 2): 5, (2, 0): 3, (2, 1): 1}
FIRST_SERIES = (3, 0)


@dataclass(frozen=True)
class Speech:
    """What one side speaks; ``pmix``: its version of PMIx, as far as that is known, empty where it is unknown."""

    protocols: tuple[str, ...]
    pmix: str = ""

    def __str__(self) -> str:
        return " or ".join(
            f"{PMIX} {self.pmix}".strip() if protocol == PMIX else protocol for protocol in self.protocols
        )


@dataclass(frozen=True)
class Offer:
    """What a launcher can be asked for: the value of its option --mpi, empty where it has none, and what that is."""

    launcher: str
    ways: dict[str, Speech] = field(default_factory=dict)


def library_speech(mpi: str, pmix: str) -> Speech | None:
    """What an MPI library speaks by what it calls itself, and by the PMIx that it has loaded; None where unknown."""
    kind = family(mpi)
    if kind == OPENMPI and pmix:
        return Speech((PMIX,), pmix)
    if kind == MPICH and not ELSEWHERE.search(mpi):
        return Speech((PMI, PMIX), pmix) if pmix else Speech((PMI,))
    return None


def offer(launcher: Launcher) -> Offer | None:
    """What a launcher on PATH offers; None where it does not say."""
    name = Path(launcher.path).name
    if name == SLURM:
        found = sorted(set(PLUGIN.findall(_said(launcher.path, "--mpi=list"))), key=_rarity)
        return Offer(name, {way: _slurm_speech(way) for way in found}) if found else None
    if launcher.family == MPICH and "hydra" in launcher.version.lower():
        return Offer(name, {"": Speech((PMI,))})
    if launcher.family == OPENMPI:
        version = _server_version(launcher.path)
        return Offer(name, {"": Speech((PMIX,), version)}) if version else None
    return None


def fits(offered: Speech, wanted: Speech) -> bool:
    """Tell whether a launcher's way and a library understand each other."""
    both = set(offered.protocols) & set(wanted.protocols)
    return bool(both) and (both != {PMIX} or versions_fit(offered.pmix, wanted.pmix))


def versions_fit(one: str, other: str) -> bool:
    """Tell whether two versions of PMIx work with each other; one that is unknown may."""
    first, second = _numbers(one), _numbers(other)
    # Of a series' number alone nothing more is known than that it is new enough, or old.
    if not first or not second or first[:2] == second[:2]:
        return True
    return _crosses(first) and _crosses(second)


def fitting_ways(offered: Offer, wanted: Speech) -> list[str]:
    """Return the values of --mpi that suit a library, the one to name first."""
    return [way for way, speech in offered.ways.items() if fits(speech, wanted)]


def remedy(offered: Offer | None, wanted: Speech) -> str:
    """What to do where a launcher's way does not suit a library."""
    ways = fitting_ways(offered, wanted) if offered else []
    if ways:
        return f"say --mpi={ways[0]}"
    return f"use a launcher that speaks {wanted}, or an image whose MPI speaks what the launcher does"


def _crosses(version: tuple[int, ...]) -> bool:
    if len(version) < 3 or version[:2] >= FIRST_SERIES:
        return version[:2] >= FIRST_SERIES[: len(version)]
    return version[2] >= FIRST_TO_CROSS.get((version[0], version[1]), version[2] + 1)


def _numbers(version: str) -> tuple[int, ...]:
    found = re.match(r"[0-9]+(\.[0-9]+)*", version)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def _rarity(way: str) -> tuple[bool, int]:
    """The order in which Slurm's ways are proposed: Cray's own last, a certain version behind any."""
    return way == "cray_shasta", len(way)


def _slurm_speech(way: str) -> Speech:
    plugin, _, version = way.partition("_v")
    return Speech((PMIX,), version) if plugin == "pmix" else Speech((PMI,))


def _server_version(launcher: str) -> str:
    """The PMIx of Open MPI's launcher, which the program beside it says."""
    line = re.search(r"^\s*PMIX: *(\S+)", _said(str(Path(launcher).resolve().parent / "pmix_info")), re.MULTILINE)
    return line[1] if line else ""


def _said(*command: str) -> str:
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    # Older versions of srun list on standard error.
    return "" if done.returncode else done.stdout + done.stderr
