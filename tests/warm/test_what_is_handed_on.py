"""What a module that is left out is told, and hands on: modules behind it go by it in each process."""

import pytest

from tests.conftest import but_everyday
from tests.warm.conftest import Warm

# A condition of a module that is left out, what makes it true, and why another start is fresh; nothing if it is warm.
CONDITIONS = {
    "argument": ("'--fast' in sys.argv", ("--fast",), {}, ""),
    "variable": ("PID and os.environ.get('PLANTED')", (), {"PLANTED": "1"}, "value of the variable PLANTED"),
    "file": ("PID and os.path.exists('{file}')", (), {}, "has changed since"),
    "limit": ("__import__('resource').getrlimit(4)[0] in (2048, 4096)", (), {}, ""),
    "directory": ("os.path.basename(os.getcwd()) == 'elsewhere'", (), {}, ""),
}


@pytest.mark.parametrize("name", but_everyday(CONDITIONS, {"argument", "variable", "file"}))
def test_what_comes_behind_goes_by_it(warm: Warm, name: str) -> None:
    condition, words, variables, reason = CONDITIONS[name]
    file = warm.image.with_name("there")
    warm.module("setting", "FAST = False")
    text = f"import os, sys, setting\nPID = os.getpid()\nif {condition.format(file=file)}: setting.FAST = True\n"
    warm.module("told", text if "PID" in condition else text.replace("PID = os.getpid()\n", ""))
    warm.module("solver", "import setting\nMETHOD = 'fast' if setting.FAST else 'exact'")
    script = warm.script("import csv, told, solver\nprint(solver.METHOD)")
    said = warm.bake(script)
    assert "left out told: " in said and warm.start_warm(script).stdout == "exact\n", said
    file.touch()
    before = ("sh", "-c", 'ulimit -c 4; mkdir -p elsewhere; cd elsewhere; exec "$@"', "sh")
    if reason:
        started = warm.start_fresh(reason, script, *words, before=before, **variables)
    else:
        started = warm.start(script, *words, before=before, **variables)
        assert "not used" not in started.stderr
    assert started.stdout == "fast\n"


def test_variables_that_a_left_out_module_sets_reach_c(warm: Warm) -> None:
    """Libraries of C read them when they are loaded, and nobody sees what they make of it."""
    warm.module("setting", "import os\nPID = os.getpid()\nos.putenv('OPENBLAS_NUM_THREADS', '1')")
    script = warm.script(
        "import csv, setting\nimport numpy\nimport os\nnumpy.ones((900, 900)) @ numpy.ones((900, 900))\n"
        "print(len(os.listdir('/proc/self/task')))"
    )
    said = warm.bake(script)
    assert "left out setting: " in said and "modules, " in said
    assert warm.start_warm(script).stdout == warm.plain(script).stdout == "1\n"


# How a module leaves in a directory what it has found, and how a later one takes it.
FILES = {
    "a file": ("open('{file}', 'w').write(FOUND)", "open('{file}').read()"),
    "a replaced file": (
        "open('{file}.new', 'w').write(FOUND); os.replace('{file}.new', '{file}')",
        "open('{file}').read()",
    ),
    "a directory": (
        "os.makedirs('{file}', exist_ok=True); [os.rmdir('{file}/' + each) for each in os.listdir('{file}')]; "
        "os.mkdir('{file}/' + FOUND)",
        "os.listdir('{file}')[0]",
    ),
    "a database": (
        "import sqlite3; d = sqlite3.connect('{file}'); d.execute('create table if not exists t (found)'); "
        "d.execute('delete from t'); d.execute('insert into t values (?)', [FOUND]); d.commit(); d.close()",
        "next(sqlite3.connect('file:{file}?mode=ro', uri=True).execute('select found from t'))[0]",
    ),
}


def with_reader(warm: Warm, name: str, behind: str = "os") -> str:
    """A script with a module that notes that it has run, and writes whether it had, and one that reads that.

    All interpreters of the maker find the same.
    """
    file, mark = warm.image.with_name("written"), warm.image.with_name("mark")
    writes, reads = (text.format(file=file) for text in FILES[name])
    text = f"import os\nFOUND = 'again' if os.path.exists('{mark}') else 'first'\nopen('{mark}', 'w').close()\n{writes}"
    warm.module("writer", text)
    warm.module("reader", f"import os, sqlite3\nFOUND = {reads}")
    script = warm.script(f"import csv, sqlite3\nimport writer, reader, {behind}\nprint(reader.FOUND)")
    assert (warm.plain(script).stdout, warm.plain(script).stdout) == ("first\n", "again\n")
    return script


@pytest.mark.parametrize("name", but_everyday(FILES, {"a replaced file"}))
def test_who_reads_what_a_left_out_module_writes_is_left_out(warm: Warm, name: str) -> None:
    script = with_reader(warm, name)
    said = warm.bake(script)
    assert "left out writer: " in said and "modules, " in said
    warm.image.with_name("mark").unlink()
    assert warm.start_warm(script).stdout == "first\n", said


def test_who_reads_what_was_written_is_left_out_where_another_is_told_something(warm: Warm) -> None:
    """What comes behind that one is left out as well, and the reader comes before it."""
    warm.module("told", "import sys\nFAST = '--fast' in sys.argv")
    script = with_reader(warm, "a file", "told")
    said = warm.bake(script)
    assert "left out told: " in said and "modules, " in said
    warm.image.with_name("mark").unlink()
    assert warm.start_warm(script).stdout == "first\n", said
