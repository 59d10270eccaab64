"""Running a random program plainly and served, and what a rank then prints, leaves and ends with."""

import re
import shutil
import signal
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

from lab.orphans import orphans_ended
from lab.ranks import Mpi, Outcome, run
from tests.conftest import Job
from tests.random_programs.documented import undocumented
from tests.random_programs.generator import Program

RANKS = 2
# Plain runs after which what they do not agree upon is known.
REPEATED = 10
ENTRY_POINTS = ("early", "module", "sitecustomize")
SECONDS = 40
# Plain Python with mpi4py loaded, which keeps some modules past the end of the interpreter.
WITH_MPI4PY = "with mpi4py"
# Plain Python whose collector has come once more: the order in which objects end follows from when it comes.
COLLECTED, COLLECTED_LAST = "collected", "collected last"
# The early start, from a cached store.
KEPT = "kept"
# From a snapshot, which holds the begin of the program.
SNAPSHOT = "snapshot"
# Seconds for which a tree must have been left alone before a store of it is kept.
SETTLED = 2.1
# What the sitecustomize of such a Python does.
CUSTOMIZED = {
    WITH_MPI4PY: "import mpi4py\nmpi4py.rc.initialize = mpi4py.rc.finalize = False\nimport mpi4py.MPI\n",
    COLLECTED: "import gc\ngc.collect()\n",
    COLLECTED_LAST: "import atexit, gc\natexit.register(gc.collect)\n",
}
# What objects say that die with the program's variables, which mpi4py may keep past the end of the interpreter.
LAST_WORDS = r"(?m)^(died .*|globals: .*|imported 4|ImportError)\n"
WARNED = r"(?m)^.*\bResourceWarning: (.*)\n(?:  .*\n)?"
# Objects that only the collector ends; from an image it comes at other moments.
IN_CYCLES = r"died (cycle|default|local)\d"
ENDS = {SNAPSHOT: "died |globals: "}
# Said where edits have left no snapshot true.
NOT_USED = r"(?m)^mpiimport: the snapshot is not used: .*\n"
COMPILING = re.compile(r"compiles |data of ")
NAMES = 'R=${PMI_RANK:-${OMPI_COMM_WORLD_RANK:-$SLURM_PROCID}} OUT="$STREAMS/out.$R" ERR="$STREAMS/err.$R"'


@dataclass(frozen=True)
class Result:
    """What came of a program: the launcher's status, each rank's streams, and the files of its directory.

    ``takes_part``: it puts functions of its own in the place of importlib's; ``ends``: how a line begins that an object
    says when it ends, the moment of which is the collector's choice; ``refused``: why it has no snapshot, and has not
    been run; ``leaves_mpi``: it may end without MPI_Finalize, where Hydra kills the ranks that are still running.
    """

    status: int | None
    streams: dict[str, str]
    files: dict[str, str]
    takes_part: bool
    ends: str
    refused: str = ""
    leaves_mpi: bool = False


@dataclass
class Bench:
    """Runs one program in copies of its directory, all at the same place: below ``job.directory``.

    ``temporary``: for its temporary files, which a program that is ended leaves; a short path, for sockets lie there.
    ``otherwise``: what came of it plainly in each of the ways of CUSTOMIZED; ``again``: in further plain runs.
    ``laid``: when the copy of an entry point was laid out that is to be at rest.
    """

    job: Job
    mpi: Mpi
    program: Program
    temporary: Path
    ranks: int = RANKS
    otherwise: dict[str, Result] = field(default_factory=dict)
    again: list[Result] = field(default_factory=list)
    laid: dict[str, float] = field(default_factory=dict)

    def lay_out(self, entry_point: str) -> None:
        """Write an entry point's copy of the directory now: it comes to rest while other entry points are tried."""
        self._copy(entry_point).mkdir()
        self.program.write(self._copy(entry_point))
        self.laid[entry_point] = time.monotonic()

    def _copy(self, entry_point: str) -> Path:
        parent = self.job.directory / f"{entry_point}.laid"
        parent.mkdir(exist_ok=True)
        return parent / "work"

    def run(self, entry_point: str, keep: str) -> Result:
        """Run the program through an entry point; its directory is then ``keep``, its output in ``keep``.streams."""
        base = self.job.directory
        if entry_point not in self.laid:
            self.lay_out(entry_point)
        # By the name of the directory above it, since what is renamed itself is not at rest.
        place = self._copy(entry_point).parent.rename(base / "place")
        work = place / "work"
        output = base / f"{keep}.streams"
        output.mkdir()
        variables = self._variables(entry_point, work)
        interpreter, *ours = self.job.python("plain" if entry_point in CUSTOMIZED else entry_point)
        words = [word.replace("{HERE}", str(work)) for word in self.program.words]
        program = [interpreter, *self.program.flags, *ours, *words]
        refused = self._prepare(entry_point, program, variables, work)
        self.program.edit(work)
        outcome = Outcome(None, "", refused)
        if not refused:
            shell = f'{NAMES}; unset R STREAMS; exec "$@" {self.program.redirection}'
            # Intel's launcher gives ranks a socket as standard input: bash may then read the settings of logins.
            command = [*self.mpi.command(self.ranks), "bash", "--norc", "-c", shell, "bash", *program]
            # Ranks of a launcher that the time limit ends go on, and in sessions of their own.
            with orphans_ended():
                outcome = run(command, {**variables, "STREAMS": str(output)}, SECONDS, work)
        streams = {path.name: path.read_bytes().decode(errors="backslashreplace") for path in sorted(output.iterdir())}
        if entry_point == SNAPSHOT and not refused:
            refused = self._not_restored(streams)
        if self.program.edits:
            streams = {name: re.sub(NOT_USED, "", text) for name, text in streams.items()}
        (output / "launcher").write_text(outcome.stdout + outcome.stderr)
        kept = base / keep
        work.rename(kept)
        place.rmdir()
        del self.laid[entry_point]
        takes_part = any("replaced" in block or "hook" in block for block in self.program.blocks)
        ends, leaves_mpi = ENDS.get(entry_point, IN_CYCLES), self.program.leaves_mpi
        return Result(outcome.status, streams, dict(_left(kept)), takes_part, ends, refused, leaves_mpi)

    def _variables(self, entry_point: str, work: Path) -> dict[str, str]:
        switches = (
            {"PYTHONPATH": str(self._customizes(entry_point))}
            if entry_point in CUSTOMIZED
            else self.job.switches(entry_point)
        )
        path = [switches.get("PYTHONPATH"), str(work / "lib")]
        own = {
            "HERE": str(work),
            "TMPDIR": str(self.temporary),
            "PLACE": str(work / self.program.place),
            "PYTHONPATH": ":".join(filter(None, path)),
        }
        same = {**self.job.first_on_path(), **self.program.environment}
        return self.job.environment(self.mpi, **{**switches, **same, **own})

    def _prepare(self, entry_point: str, program: list[str], variables: dict[str, str], work: Path) -> str:
        """Keep what an entry point starts from. Return why there is no snapshot."""
        if entry_point not in (KEPT, SNAPSHOT):
            return ""
        time.sleep(max(0, self.laid[entry_point] + SETTLED - time.monotonic()))
        if entry_point == SNAPSHOT:
            makers = self.ranks if self.mpi.divides else 1
            return self.job.prepare([*self.mpi.command(makers), *program], variables, work)
        filled = run(program, {**variables, "MPIIMPORT_FILL": "1"}, SECONDS, work)
        assert filled.status == 0 or "standard input" in filled.stderr, filled.stderr
        return ""

    def _not_restored(self, streams: dict[str, str]) -> str:
        """Return why ranks have not started from the snapshot, if any."""
        said = [match[0] for text in streams.values() for match in re.finditer(NOT_USED, text)]
        return "".join(said) or ("" if self.job.has_read_a_snapshot() else "nobody has read the snapshot")

    def _customizes(self, way: str) -> Path:
        directory = self.job.directory / f"{way.replace(' ', '-')}-python"
        directory.mkdir()
        (directory / "sitecustomize.py").write_text(CUSTOMIZED[way])
        return directory

    def unlike(self, plain: Result, entry_point: str, served: Result) -> list[str]:
        """In what the run through an entry point differs from all plain runs that it may be like.

        Those must agree upon it: in doubt there are more of them.
        """
        found = differences(plain, served)
        ways = (
            (COLLECTED, COLLECTED_LAST) if entry_point == SNAPSHOT else () if self.program.uses_mpi else (WITH_MPI4PY,)
        )
        for way in ways:
            if found:
                if way not in self.otherwise:
                    self.otherwise[way] = self.run(way, way)
                found = found if differences(self.otherwise[way], served) else []
        while found:
            found = differences(plain, served, *self.otherwise.values(), *self.again)
            if len(self.again) == REPEATED:
                break
            self.again.append(self.run("plain", f"plain {len(self.again)}"))
        return found

    def clear(self) -> None:
        for path in self.job.directory.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _left(directory: Path) -> list[tuple[str, str]]:
    """The files below a directory with their modes and content; of a pyc only that it is there."""
    found = []
    for path in sorted(directory.rglob("*")):
        name = repr(str(path.relative_to(directory)))
        if path.is_symlink():
            found.append((name, f"link to {path.readlink()}"))
        elif path.is_dir():
            found.append((name, "directory"))
        else:
            # What a program prints may go into any file.
            content = undocumented(path.read_bytes().decode("latin-1")).encode("latin-1")
            shown = f"{path.stat().st_mode & 0o777:o} {len(content)} bytes {content[:60]!r} {hash(content)}"
            # One that is written later is written under the umask of that moment.
            found.append((name, "pyc" if path.suffix == ".pyc" else shown))
    return found


def normal(result: Result, ends: str) -> Result:
    """A result without what docs/behaviour.md says may differ. ``ends``: see Result."""
    streams = {name: _in_order(undocumented(text), ends) for name, text in result.streams.items()}
    if result.takes_part:
        streams = {name: re.sub(LAST_WORDS, "", text) for name, text in streams.items()}
    files: dict[str, str] = {}
    for name, shown in result.files.items():
        known = re.sub(r"left\.\d+\.\w{8}", "TEMPORARY", name)
        files[known] = "; ".join(sorted(filter(None, [files.get(known), shown])))
    return replace(result, streams=streams, files=files)


def _in_order(text: str, ends: str) -> str:
    """Put last what is said of objects that nothing reaches any more: when they go is the collector's choice.

    A warning then names the line that happens to run.
    """
    warnings = [f"ResourceWarning: {found}\n" for found in re.findall(WARNED, text)]
    lines = re.sub(WARNED, "", text).splitlines(True)
    died = [line for line in lines if re.match(ends, line)]
    return "".join([*(line for line in lines if line not in died), *sorted(died), *sorted(warnings)])


def without_chance(seen: str, *right: str) -> list[list[str]]:
    """The lines of texts, less those that do not stand equally often in all that are right."""
    texts = [text.splitlines() for text in (seen, *right)]
    counts = [Counter(lines) for lines in texts[1:]]
    chance = {line for count in counts for line in count if any(other[line] != count[line] for other in counts)}
    return [[line for line in lines if line not in chance] for lines in texts]


def differences(expected: Result, seen: Result, *others: Result) -> list[str]:
    """In what a result differs from one that is right, each in one line or a few.

    ``others``: right results, too. What not all of these agree upon is chance.
    """
    # An exception that nothing catches ends the whole job: other ranks say no more.
    is_aborted = any("Abort(1) on node" in text for text in seen.streams.values())
    is_ended = is_aborted and seen.status == 1 and expected.status not in (0, None)
    is_ended |= seen.leaves_mpi and seen.status == signal.SIGKILL
    right = [normal(result, seen.ends) for result in (expected, *others)]
    expected, seen = right[0], normal(seen, seen.ends)
    found = []
    if seen.status not in [result.status for result in right] and not is_ended:
        found.append(f"status: {expected.status} plainly, {seen.status} served")
    for name in sorted({*expected.streams, *seen.streams}):
        served, plain, *texts = without_chance(*(result.streams.get(name, "") for result in (seen, *right)))
        # A program that takes part in compiling hears more of it: pycs are written later, by root.
        served = [line for line in served if line in plain or not COMPILING.match(line)]
        if served not in (plain, *texts) and not (is_ended and served == plain[: len(served)]):
            found.append(f"{name}: " + _first_difference(plain, served))
    for name in sorted({*expected.files, *seen.files}):
        plain_file, served_file = expected.files.get(name, "absent"), seen.files.get(name, "absent")
        # Root writes those of modules that other ranks import, where MPI is finalised. What the program removes is not
        # written again, nor what it does not import for that is in sys.modules.
        is_left_out = served_file == "absent" and _is_of_pyc(name, plain_file)
        # It may also come late, and be there where the program had removed all.
        is_left_out |= plain_file == "absent" and name.startswith("'lib/") and _is_of_pyc(name, served_file)
        # A rank that is ended for another one's exception removes nothing.
        is_left_out |= plain_file == "absent" and is_ended
        # What mpi4py keeps past the end of the interpreter is not written out.
        is_left_out |= seen.takes_part and _is_completed(served_file, plain_file)
        is_left_out |= any(result.files.get(name, "absent") == served_file for result in right)
        if plain_file != served_file and not is_left_out and not _is_completed(plain_file, served_file):
            found.append(f"file {name}: {plain_file} plainly, {served_file} served")
    return found


def _is_of_pyc(name: str, shown: str) -> bool:
    return shown == "pyc" or (shown == "directory" and (name.endswith("__pycache__'") or name.startswith("'cache_")))


def _is_completed(plain: str, served: str) -> bool:
    """Tell whether a file that plain Python leaves cut short is longer: it is written out before ranks wait."""
    shown = [re.fullmatch(r"(\d+) (\d+) bytes (b.*) -?\d+", text) for text in (plain, served)]
    if shown[0] is None or shown[1] is None:
        return False
    (mode, size, begin), (served_mode, served_size, served_begin) = (match.groups() for match in shown if match)
    if (mode, int(size)) == (served_mode, 0) or (mode == served_mode and served_begin[2:].endswith(begin[2:])):
        return True
    return (mode, begin) == (served_mode, served_begin) and int(size) % 4096 < int(size) < int(served_size)


def _first_difference(plain: list[str], served: list[str]) -> str:
    at = next((i for i, pair in enumerate(zip(plain, served, strict=False)) if pair[0] != pair[1]), None)
    at = min(len(plain), len(served)) if at is None else at
    shown = [lines[at : at + 6] for lines in (plain, served)]
    return f"line {at + 1} of {len(plain)} plainly {shown[0]}\n    and of {len(served)} served {shown[1]}"
