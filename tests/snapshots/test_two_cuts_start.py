"""A snapshot with a base beside it: in doubt a program starts from that, and only then without one."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome, run
from tests.conftest import settle

from .baked import NOT_USED, SECONDS, Baked
from .prepared import Prepared

HEAD, OWN = "import os, sys\nimport plant\n", "import extra\n"
REST = """
stream = open("/proc/self/maps")
mapped = {line.split()[-1].rpartition("/")[2] for line in stream}
restored = os.readlink("/proc/self/exe").endswith("mpiimport-restore")
kind = "base" if "image.base" in mapped else "full" if restored else "fresh"
print(kind, stream.fileno(), sys.argv[1:])
"""
FULL = HEAD + OWN + REST
EDITED = HEAD + "VALUE = 1\n" + OWN + REST
WORDS = ("a b", "", "--base")
TRIED = "mpiimport: the full snapshot is not used: "


def modules_of(baked: Baked) -> Path:
    """Install a module, and put one of the script's own beside it, which is returned."""
    (baked.modules / "plant-1.dist-info").mkdir()
    extra = Path(baked.script("def value(): return 1\n", "extra.py"))
    settle(baked.module("plant", ""), baked.modules, extra)
    return extra


class Pair:
    """A snapshot and its base, in a file each. ``entry_point``: they are prepared, and python-mpi leads to them;
    ``launcher``: words in front of it."""

    def __init__(self, prefix: Path, baked: Baked, entry_point: bool, launcher: tuple[str, ...] = ()) -> None:
        self.baked = baked
        self._launcher = launcher
        self.entry_point = [str(prefix / "bin" / "python-mpi")] if entry_point else []
        library = baked.image.with_name("snapshots")
        path = f"{Path(baked.python).parent}:{os.environ['PATH']}"
        self._variables = (
            {"PATH": path, "MPIIMPORT_SNAPSHOTS": str(library), "MPIIMPORT_PREPARE": "never"} if entry_point else {}
        )
        self.extra = modules_of(baked)
        script, mpiimport = baked.script(FULL), baked.bake_command("")[0]
        words = (
            ["prepare", "--", *launcher, *self.entry_point]
            if entry_point
            else ["bake", "--snapshot", str(baked.image), "--", baked.python]
        )
        made = self.run([mpiimport, *words, script])
        (self.image,) = library.glob("*/*/image") if entry_point else [baked.image]
        self.base = self.image.with_name(f"{self.image.name}.base")
        assert made.status == 0 and self.base.exists(), made

    def run(self, command: list[str], **environment: str) -> Outcome:
        variables = self.baked.environment(**{**self._variables, **environment})
        return run(command, variables, SECONDS, self.baked.image.parent / "work")

    def start(self, text: str = FULL, words: tuple[str, ...] = WORDS, **environment: str) -> Outcome:
        """Start a script of this text."""
        begin = self.entry_point or [self.baked.starter, str(self.baked.image)]
        return self.run([*self._launcher, *begin, self.baked.script(text), *words], **environment)

    def call(self, *options: str) -> Outcome:
        """Call the starter with options of its own."""
        return self.run([self.baked.starter, *options, str(self.baked.image), self.baked.script(FULL), *WORDS])

    def check(self, kind: str, text: str = FULL) -> None:
        """Check from which of them a script starts, and that nothing is said of it."""
        outcome = self.start(text)
        assert (outcome.stdout, outcome.stderr, outcome.status) == (f"{kind} 3 {[*WORDS]}\n", "", 0)


@pytest.fixture(params=["entry_point", "starter"])
def pair(prefix: Path, baked: Baked, request: pytest.FixtureRequest) -> Pair:
    return Pair(prefix, baked, request.param == "entry_point")


def test_the_longest_that_is_true_is_used(pair: Pair) -> None:
    pair.check("full")
    pair.check("base", EDITED)
    pair.extra.write_text("def value(): return 2\n")
    pair.check("base")
    pair.check("base", EDITED)
    outcome = pair.start("import plant\n" + FULL)
    assert outcome.stdout.startswith("fresh 3 ") and len(outcome.ours()) == 1
    assert outcome.stderr.startswith(NOT_USED) and "begins with other statements" in outcome.stderr
    pair.baked.module("plant", "VALUE = 1\n")
    outcome = pair.start()
    assert outcome.stdout == f"fresh 3 {[*WORDS]}\n" and outcome.status == 0
    assert outcome.stderr.startswith(NOT_USED) and "plant.py" in outcome.stderr and len(outcome.ours()) == 1


def test_all_words_are_handed_on(pair: Pair) -> None:
    words = tuple(f"file{number}.h5" for number in range(5000))
    for text, kind in ((FULL, "full"), (EDITED, "base"), ("import plant\n" + FULL, "fresh")):
        assert pair.start(text, words).stdout == f"{kind} 3 {[*words]}\n"
    pair.baked.module("plant", "VALUE = 1\n")
    assert pair.start(FULL, words).stdout == f"fresh 3 {[*words]}\n"


def test_a_verbose_start_says_why_the_full_one_is_not_used(pair: Pair) -> None:
    pair.extra.write_text("def value(): return 2\n")
    said = f"{TRIED}this has changed since, or cannot be opened: {pair.extra}; the base is tried"
    for value, lines in (("1", [said]), ("0", []), ("", [])):
        outcome = pair.start(MPIIMPORT_VERBOSE=value)
        assert outcome.stdout.startswith("base "), outcome
        assert [line for line in outcome.ours() if " not used" in line] == lines
    pair.baked.module("plant", "VALUE = 1\n")
    outcome = pair.start(MPIIMPORT_VERBOSE="1")
    assert outcome.stdout.startswith("fresh "), outcome
    first, second = outcome.ours()[:2]
    assert first.startswith(TRIED) and second.startswith(NOT_USED) and "plant.py" in second


def test_a_doubt_of_the_started_process_is_said_where_more_is_asked_for(pair: Pair) -> None:
    for value, count in (("1", 1), ("0", 0)):
        outcome = pair.start(EDITED, MPIIMPORT_VERBOSE=value)
        assert outcome.stdout == f"base 3 {[*WORDS]}\n", outcome
        assert sum("begins with other statements" in line for line in outcome.ours()) == count


def _remove(image: Path) -> None:
    image.unlink()


def _shorten(image: Path) -> None:
    os.truncate(image, 100)


def _damage(image: Path) -> None:
    with image.open("r+b") as stream:
        stream.seek(1000)
        stream.write(b"damage")


def _open_to_all(image: Path) -> None:
    image.chmod(0o666)


def _pipe(image: Path) -> None:
    image.unlink()
    os.mkfifo(image)


@pytest.mark.parametrize("harm", [_remove, _shorten, _damage, _open_to_all, _pipe])
def test_a_full_one_that_cannot_be_read(pair: Pair, harm: Callable[[Path], None]) -> None:
    harm(pair.image)
    pair.check("base")
    harm(pair.base)
    outcome = pair.start()
    (line,) = outcome.ours()
    assert line.startswith(NOT_USED)
    # Without python-mpi it is in the file beside the image which Python to start.
    assert outcome.stdout == f"fresh 3 {[*WORDS]}\n", outcome


def test_a_base_that_is_no_file_of_ours(pair: Pair) -> None:
    pair.base.rename(pair.base.with_name("elsewhere"))
    pair.base.symlink_to("elsewhere")
    pair.check("full")
    outcome = pair.start(EDITED)
    assert outcome.stdout.startswith("fresh ") and len(outcome.ours()) == 1, outcome
    assert f"it is a link, no file, or cannot be opened: {pair.base}" in outcome.stderr
    pair.base.unlink()
    outcome = pair.start(EDITED)
    assert outcome.stdout.startswith("fresh ") and "begins with other statements" in outcome.stderr, outcome


def test_a_doubt_when_memory_is_laid_out_already(prefix: Path, baked: Baked) -> None:
    pair = Pair(prefix, baked, entry_point=False)
    limited = ["bash", "-c", 'ulimit -v 8000; exec "$@"', "bash", baked.starter, str(baked.image), baked.script(FULL)]
    outcome = pair.run(limited, MPIIMPORT_VERBOSE="1")
    first, second = outcome.ours()
    assert first == f"{TRIED}it cannot be mapped; the base is tried" and second.startswith(NOT_USED), outcome
    assert "it cannot be mapped" in second and (outcome.status or 0) > 0


def test_the_base_is_what_was_asked_for(prefix: Path, baked: Baked) -> None:
    pair = Pair(prefix, baked, entry_point=False)
    assert pair.call("--base").stdout.startswith("base ")
    pair.base.unlink()
    assert pair.call("--base").stdout.startswith("full ")
    baked.module("plant", "VALUE = 1\n")
    outcome = pair.call("--base")
    assert outcome.stdout.startswith("fresh ") and len(outcome.ours()) == 1, outcome


def test_one_rank_speaks_for_the_job(prefix: Path, baked: Baked, mpich: Mpi) -> None:
    pair = Pair(prefix, baked, True, tuple(mpich.command(2)))
    pair.extra.write_text("def value(): return 2\n")
    for value, count in (("1", 1), ("0", 0)):
        outcome = pair.start(MPIIMPORT_VERBOSE=value)
        assert [line.split()[0] for line in outcome.lines()] == ["base"] * 2, outcome
        assert sum(TRIED in line for line in outcome.ours()) == count


def test_scripts_that_begin_alike_start_from_one_base(prepared: Prepared, tmp_path: Path) -> None:
    baked = prepared.baked
    modules_of(baked)
    prepared.prepare(baked.script(HEAD + "def value(): return 1\nimport json\n" + REST))
    (tmp_path / "elsewhere").mkdir()
    other = tmp_path / "elsewhere" / "other.py"
    other.write_text(HEAD + "print(VALUE := 1)\n" + REST)
    outcome = prepared.start(str(other), "a")
    assert (outcome.stdout, outcome.stderr) == ("1\nbase 3 ['a']\n", ""), outcome
    baked.module("plant", "VALUE = 1\n")
    for value in ("", "1"):
        outcome = prepared.start(str(other), "a", MPIIMPORT_VERBOSE=value)
        # Nobody has prepared this one.
        assert outcome.stdout.startswith("1\nfresh ") and sum(NOT_USED in line for line in outcome.ours()) == len(value)
    other.write_text("import this\n" + HEAD)
    prepared.start_plainly(str(other))
