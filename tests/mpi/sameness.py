"""Running a program plainly and served, and comparing what the two saw."""

import json
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lab.ranks import Mpi, Outcome, run
from tests.conftest import Job

RANKS = 2
# A program under comparison puts what it sees into `seen`, between these two.
BEGIN = "seen = {}\n"
END = """
def _report():
    import json, os
    seen.pop("_", None)
    with open(os.path.join({directory!r}, f"seen-{{os.getpid()}}.json"), "w") as stream:
        json.dump(seen, stream, default=repr, sort_keys=True)
_report()
"""


@dataclass(frozen=True)
class Setting:
    """How Python is started. ``stdin``: the file that is the program's input."""

    interpreter: str = sys.executable
    flags: tuple[str, ...] = ()
    stdin: Path | None = None
    seconds: float = 120


DEFAULT = Setting()


def reporting(job: Job, text: str) -> str:
    """The program ``text``, which then leaves what it put into ``seen`` in a file."""
    return BEGIN + text + END.format(directory=str(job.directory))


def launch(
    job: Job, mpi: Mpi, entry_point: str, *words: str | Path, setting: Setting = DEFAULT, **environment: str
) -> tuple[Outcome, list[dict[str, Any]]]:
    """Run a program through an entry point; one process is enough where it runs plainly. Return also what each rank saw."""
    variables = job.environment(mpi, **{**environment, **job.switches(entry_point)})
    path = [job.switches(entry_point).get("PYTHONPATH"), environment.get("PYTHONPATH")]
    if any(path):
        variables["PYTHONPATH"] = ":".join(filter(None, path))
    ours = job.python(entry_point)[1:]
    launcher = [] if entry_point == "plain" else mpi.command(RANKS)
    given = f"< {setting.stdin}" if setting.stdin else ""
    # A file for each rank: what `site` says it writes in parts of lines, which mingle in a pipe that ranks share.
    with TemporaryDirectory() as errors:
        redirect = ["bash", "-c", f'exec "$@" 2> {errors}/$$ {given}', "bash"]
        command = [*launcher, *redirect, setting.interpreter, *setting.flags, *ours, *map(str, words)]
        outcome = run(command, variables, setting.seconds, job.directory)
        said = [file.read_text() for file in Path(errors).iterdir()]
    outcome = replace(outcome, stderr="".join([outcome.stderr, *said]))
    seen = []
    for file in job.directory.glob("seen-*.json"):
        seen.append(json.loads(file.read_text()))
        file.unlink()
    return outcome, seen


def differences(
    job: Job,
    mpi: Mpi,
    *words: str | Path,
    entry_points: tuple[str, ...] = ("early",),
    setting: Setting = DEFAULT,
    **environment: str,
) -> dict[str, Any]:
    """Return in what a rank of a served job ends, prints or sees something else than a plain process does."""
    plain, reports = launch(job, mpi, "plain", *words, setting=setting, **environment)
    assert len(reports) == 1, plain.stderr
    (expected,) = reports
    found = {}
    for entry_point in entry_points:
        served, ranks = launch(job, mpi, entry_point, *words, setting=setting, **environment)
        package = job.switches(entry_point).get("PYTHONPATH")
        for rank in ranks:
            # The module entry point's own place stays on the path that it was given.
            if "sys.path" in rank:
                rank["sys.path"] = [entry for entry in rank["sys.path"] if entry != package]
            for key in {*expected, *rank}:
                if expected.get(key) != rank.get(key):
                    found[f"{entry_point}: {key}"] = {"plain": expected.get(key), "served": rank.get(key)}
        for stream in ("stdout", "stderr"):
            once, all_ranks = (Counter(getattr(outcome, stream).splitlines()) for outcome in (plain, served))
            wanted = Counter({line: times * RANKS for line, times in once.items()})
            if all_ranks != wanted:
                found[f"{entry_point}: {stream}"] = {
                    "missing": [*(wanted - all_ranks)],
                    "extra": [*(all_ranks - wanted)],
                }
        if served.status != plain.status or len(ranks) != RANKS:
            found[f"{entry_point}: status"] = {"plain": plain.status, "served": served.status, "reports": len(ranks)}
    return found


def assert_same(
    job: Job,
    mpi: Mpi,
    text: str,
    files: Mapping[str, str] | None = None,
    *,
    entry_points: tuple[str, ...] = ("early",),
    setting: Setting = DEFAULT,
    name: str = "app.py",
    **environment: str,
) -> None:
    """A program sees, prints and ends the same served as plainly. The ``files`` lie in a directory of PYTHONPATH."""
    if files:
        environment.setdefault("PYTHONPATH", job.files(files))
    script = job.script(reporting(job, text), name)
    assert differences(job, mpi, script, entry_points=entry_points, setting=setting, **environment) == {}
