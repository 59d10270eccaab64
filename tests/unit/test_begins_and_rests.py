"""The begin of a program up to any cut, and then what follows it, do what the program does."""

import subprocess
import sys
from pathlib import Path

import pytest

from lab.ranks import clean_environment
from tests.conftest import ROOT
from tests.texts import read

SHOW = "\nimport sys\nprint(__doc__, __name__, __file__, __spec__ and __spec__.name, sys.argv, sorted(globals()))\n"
# Scripts, also run as modules; statements that import mpi4py wait. ``show``: SHOW is behind it.
PROGRAMS = read(Path(__file__).with_name("programs") / "begins_and_rests.txt")


# Executes the begin of the program that argv has, and the rest, in one child for each cut: output goes to CUT.out.
DRIVER = f"""
import os, sys
sys.path.insert(0, {str(ROOT)!r})
from mpiimport.runtime.program import Program
from mpiimport.snapshot.restore.begin import Begin
from mpiimport.snapshot.text.program_text import ProgramText
from mpiimport.snapshot.text.reading import Reading
del sys.path[0]
words = sys.argv[1:]
program, path = Program.parse(words), list(sys.path)
sys.path.insert(0, program.search_entry())
text = ProgramText(Reading(words).read())
sys.path[:] = path
for cut in range(text.full().steps + 1):
    begin = Begin(*text.shorter(text.full(), cut, "").begin)
    if begin.head.doubt(text.file.read_bytes()):
        continue
    sys.stdout.flush()
    if not os.fork():
        break
    print(cut, os.waitstatus_to_exitcode(os.wait()[1]))
else:
    sys.exit()
for number in (1, 2):
    os.dup2(os.open(f"{{cut}}.{{number}}", os.O_WRONLY | os.O_CREAT), number)
kept, sys.modules["__main__"] = sys.modules["__main__"], type(sys)("__main__")
sys.modules["__main__"].__builtins__ = __builtins__
if sys.version_info < (3, 14):
    sys.modules["__main__"].__annotations__ = {{}}
begin.prepare()
failure = begin.run() or begin.doubt(program)
assert not failure, failure
rest = begin.rest(program)
sys.argv = program.words()
exec(*rest) if len(rest) > 1 else rest[0]()
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "driver.py").write_text(DRIVER)
    (tmp_path / "beside.py").write_text("name = __name__\n")
    (tmp_path / "mpi4py").mkdir()
    (tmp_path / "mpi4py" / "__init__.py").write_text("NAMES = 1\n")
    return tmp_path


def run(here: Path, *words: str) -> tuple[int, str, str]:
    environment = clean_environment(PYTHONIOENCODING="utf-8")
    ended = subprocess.run(
        [sys.executable, *words], cwd=here, env=environment, capture_output=True, text=True, timeout=60
    )
    return ended.returncode, ended.stdout, last(ended.stderr)


def last(text: str) -> str:
    """What is said last: above it are frames of the driver."""
    return "\n".join(text.splitlines()[-4:])


@pytest.mark.parametrize("words", [["app.py"], ["-m", "app"], ["-m", "pack.app"]], ids=" ".join)
@pytest.mark.parametrize("name", PROGRAMS)
def test_begin_and_rest_do_what_the_program_does(here: Path, name: str, words: list[str]) -> None:
    (here / "pack").mkdir()
    (here / "pack" / "__init__.py").touch()
    for path in (here / "app.py", here / "pack" / "app.py"):
        path.write_text(f"{PROGRAMS[name]}{SHOW if 'show' in PROGRAMS[name].traits else ''}")
    plain = run(here, *words, "argument")
    status, said, _ = run(here, str(here / "driver.py"), *words, "argument")
    assert status == 0 and said
    for cut, status_of_cut in map(str.split, said.splitlines()):
        shown, wrong = ((here / f"{cut}.{number}").read_text() for number in (1, 2))
        assert (int(status_of_cut), shown, last(wrong)) == plain, f"before statement {cut}"
