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


# How a module leaves what it was told in a directory, and what a later one makes of it.
FILES = {
    "a file": ("open('{file}', 'w').write(str(PID))", "int(open('{file}').read())"),
    "a replaced file": (
        "open('{file}.new', 'w').write(str(PID)); os.replace('{file}.new', '{file}')",
        "int(open('{file}').read())",
    ),
    "a directory": ("os.makedirs('{file}/%s' % PID, exist_ok=True)", "max(map(int, os.listdir('{file}')), key=AGE)"),
    "a database": (
        "import sqlite3; d = sqlite3.connect('{file}'); d.execute('create table if not exists t (pid)'); "
        "d.execute('insert into t values (?)', [PID]); d.commit(); d.close()",
        "next(sqlite3.connect('{file}').execute('select pid from t order by rowid desc'))[0]",
    ),
}


@pytest.mark.parametrize("name", but_everyday(FILES, {"a replaced file"}))
def test_who_reads_what_a_left_out_module_writes_is_left_out(warm: Warm, name: str) -> None:
    writes, reads = (text.format(file=warm.image.with_name("written")) for text in FILES[name])
    warm.module("writer", f"import os\nPID = os.getpid()\n{writes}\n")
    age = "AGE = lambda name: os.stat('%s/%s' % ('{}', name)).st_mtime_ns\n".format(warm.image.with_name("written"))
    warm.module("reader", f"import os, sqlite3\n{age}SEEN = {reads}\n")
    script = warm.script("import csv, sqlite3\nimport writer, reader, os\nprint(reader.SEEN == os.getpid())")
    said = warm.bake(script)
    assert "left out writer: " in said and "modules, " in said
    assert warm.start_warm(script).stdout == warm.plain(script).stdout == "True\n", said
