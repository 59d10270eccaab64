"""The thread level that a program will ask MPI for is known before it runs, and never taken for less than it is."""

from pathlib import Path

import pytest

from mpiimport.runtime.mpi.asked_level import asked_level
from mpiimport.runtime.option_table import MPI_INIT
from mpiimport.runtime.program import Program

MULTIPLE, SERIALIZED, FUNNELED, SINGLE = "multiple", "serialized", "funneled", "single"
IMPORT = "from mpi4py import MPI\n"
BY_ARGUMENT = f"""
import sys, mpi4py
how = sys.argv[1] if len(sys.argv) > 1 else ""
if how == "none": mpi4py.rc.threads = False
if how == "serialized": mpi4py.rc.thread_level = "serialized"
if how == "by hand": mpi4py.rc.initialize = False
{IMPORT}
if how == "by hand": MPI.Init_thread(MPI.THREAD_FUNNELED)
"""
# A script behind `import mpi4py`, its arguments, and the level.
SCRIPTS = [
    (IMPORT, [], MULTIPLE),
    (f"mpi4py.rc.thread_level = 'serialized'\n{IMPORT}", [], SERIALIZED),
    (f"mpi4py.rc(thread_level='funneled')\n{IMPORT}", [], FUNNELED),
    (f"from mpi4py import rc\nrc.threads = 'no'\n{IMPORT}", [], MPI_INIT),
    (f"LEVEL = 'single'\nmpi4py.rc.thread_level = LEVEL\n{IMPORT}", [], SINGLE),
    (f"{IMPORT}mpi4py.rc.threads = False", [], MULTIPLE),
    ("mpi4py.rc.threads = False\nimport solver", [], MPI_INIT),
    ("mpi4py.rc.threads = False\nimport mpi4py.MPI", [], MPI_INIT),
    ("mpi4py.rc.threads = False\nfrom mpi4py.MPI import COMM_WORLD", [], MPI_INIT),
    (f"import os\nos.environ['MPI4PY_RC_THREAD_LEVEL'] = 'Serialized'\n{IMPORT}", [], SERIALIZED),
    (f"import os\nos.environ.setdefault('MPI4PY_RC_THREADS', '0')\n{IMPORT}", [], MPI_INIT),
    (f"import os\nos.environ.update(MPI4PY_RC_THREADS='0')\n{IMPORT}", [], MPI_INIT),
    # By hand.
    (f"mpi4py.rc.initialize = False\n{IMPORT}MPI.Init()", [], MPI_INIT),
    (f"mpi4py.rc(initialize=False)\n{IMPORT}MPI.Init_thread(required=MPI.THREAD_FUNNELED)", [], FUNNELED),
    (f"mpi4py.rc.initialize = False\n{IMPORT}MPI.Init_thread()", [], MULTIPLE),
    (f"mpi4py.rc.initialize = False\n{IMPORT}MPI.Init_thread(level())", [], MULTIPLE),
    (
        f"mpi4py.rc.initialize = False\n{IMPORT}MPI.Init() if rank else MPI.Init_thread(MPI.THREAD_SERIALIZED)",
        [],
        SERIALIZED,
    ),
    (f"mpi4py.rc.initialize = False\n{IMPORT}import solver", [], MULTIPLE),
    # By arguments.
    (BY_ARGUMENT, ["none"], MPI_INIT),
    (BY_ARGUMENT, ["serialized"], SERIALIZED),
    (BY_ARGUMENT, ["by hand"], FUNNELED),
    (BY_ARGUMENT, ["other"], MULTIPLE),
    (BY_ARGUMENT, [], MULTIPLE),
    (f"import sys; sys.argv.pop(1)\n{BY_ARGUMENT}", ["none", "serialized"], MULTIPLE),
    (f"import sys; sys.argv = sys.argv[1:]\n{BY_ARGUMENT}", ["none", "serialized"], MULTIPLE),
    (f"import sys; del sys.argv[1]\n{BY_ARGUMENT}", ["none", "serialized"], MULTIPLE),
    # Names that are mpi4py's, and others.
    (f"import mpi4py as m\nm.rc.threads = False\n{IMPORT}", [], MPI_INIT),
    (f"from mpi4py import rc as settings\nsettings.thread_level = 'single'\n{IMPORT}", [], SINGLE),
    (f"settings = mpi4py.rc\nsettings(threads=False)\n{IMPORT}", [], MPI_INIT),
    (f"try:\n import mpi4py\nexcept ImportError:\n mpi4py = None\nmpi4py.rc.threads = False\n{IMPORT}", [], MPI_INIT),
    (f"rc = types.SimpleNamespace()\nrc.threads = False\n{IMPORT}", [], MULTIPLE),
    (f"class rc: pass\nrc.threads = False\n{IMPORT}", [], MULTIPLE),
    (f"from mylib import rc\nrc(threads=False)\n{IMPORT}", [], MULTIPLE),
    (f"from mpi4py import rc\nrc = other()\nrc.threads = False\n{IMPORT}", [], MULTIPLE),
    (f"mpi4py = other()\nmpi4py.rc.threads = False\n{IMPORT}", [], MULTIPLE),
    # Values that mpi4py does not know.
    (f"mpi4py.rc.threads = None\n{IMPORT}", [], MULTIPLE),
    (f"mpi4py.rc.threads = 'False'\n{IMPORT}", [], MULTIPLE),
    (f"mpi4py.rc.threads = 0\n{IMPORT}", [], MPI_INIT),
    (f"mpi4py.rc.initialize = None\n{IMPORT}MPI.Init()", [], MULTIPLE),
    # What is not known counts with the highest level that it may lead to.
    (f"if known(): mpi4py.rc.threads = False\n{IMPORT}", [], MULTIPLE),
    (f"if known(): mpi4py.rc.threads = False\nelse: mpi4py.rc.thread_level = 'funneled'\n{IMPORT}", [], MULTIPLE),
    (f"mpi4py.rc.thread_level = level()\n{IMPORT}", [], MULTIPLE),
    (f"how = 'x'\nfor how in all(): pass\nif how == 'x': mpi4py.rc.threads = False\n{IMPORT}", [], MULTIPLE),
    (f"mpi4py.rc.threads = False\nfor each in all(): mpi4py.rc.threads = True\n{IMPORT}", [], MULTIPLE),
    (f"if known():\n mpi4py.rc.threads = False\n {IMPORT}else:\n {IMPORT}", [], MULTIPLE),
    (f"mpi4py.rc.threads, other = several()\n{IMPORT}", [], MULTIPLE),
    # Functions, and what may fail.
    (f"def main():\n mpi4py.rc.threads = False\n {IMPORT}\nmain()", [], MPI_INIT),
    (f"def main(how):\n if how == 'x': mpi4py.rc.threads = False\n {IMPORT}\nhow = 'x'\nmain(y)", [], MULTIPLE),
    (f"mpi4py.rc.threads = False\nif __name__ == '__main__':\n {IMPORT}", [], MPI_INIT),
    (f"try:\n mpi4py.rc.thread_level = 'funneled'\n {IMPORT}except ImportError:\n MPI = None", [], FUNNELED),
    (f"with open(__file__): mpi4py.rc.thread_level = 'funneled'\n{IMPORT}", [], FUNNELED),
    # Not for us to complain of.
    (f"mpi4py.rc.threads = False; '\\d'\n{IMPORT}", [], MPI_INIT),
    (f"mpi4py.rc.threads = False\n{IMPORT} (", [], MULTIPLE),
]


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("THREADS", "THREAD_LEVEL", "INITIALIZE"):
        monkeypatch.delenv(f"MPI4PY_RC_{name}", raising=False)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("text", "arguments", "level"), SCRIPTS)
def test_what_a_script_does_to_rc_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, arguments: list[str], level: str
) -> None:
    text = f"import mpi4py\n{text}\n"
    script = tmp_path / "app.py"
    script.write_text(text)
    monkeypatch.chdir(tmp_path)
    forms = [
        [str(script)],
        ["-c", text],
        ["-m", "app"],
        ["-m", "mpi4py", "app.py"],
        ["-m", "cProfile", "-o", "x", "app.py"],
    ]
    found = {" ".join(form)[:20]: asked_level(Program.parse([*form, *arguments])) for form in forms}
    assert set(found.values()) == {level}, found


@pytest.mark.parametrize(
    ("variables", "text", "level"),
    [
        ({"THREAD_LEVEL": "serialized"}, "", SERIALIZED),
        ({"THREAD_LEVEL": "serialized"}, f"import mpi4py\nmpi4py.rc.thread_level = 'single'\n{IMPORT}", SERIALIZED),
        ({"THREADS": "0"}, IMPORT, MPI_INIT),
        ({"THREADS": "No", "THREAD_LEVEL": "multiple"}, IMPORT, MPI_INIT),
        ({"THREAD_LEVEL": "wrong"}, IMPORT, MULTIPLE),
        ({"INITIALIZE": "0"}, IMPORT, MULTIPLE),
        ({"INITIALIZE": "0"}, f"{IMPORT}MPI.Init_thread(MPI.THREAD_SINGLE)", SINGLE),
    ],
)
def test_variables_of_mpi4py_count_more(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], text: str, level: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(f"MPI4PY_RC_{name}", value)
    assert asked_level(Program.parse(["-c", text])) == level


@pytest.mark.parametrize(
    ("words", "level"),
    [
        (["-m", "mpi4py", "-rc", "threads=False", "app.py"], MPI_INIT),
        (["-m", "mpi4py.run", "--rc=thread_level=funneled,finalize=0", "-c", "pass"], FUNNELED),
        (["-m", "mpi4py", "-rc", "thread_level='single'", "-m", "absent"], SINGLE),
        (["-m", "mpi4py", "-rc"], MULTIPLE),
        (["-m", "mpi4py.futures", "app.py"], MULTIPLE),
        (["-m", "absent", "absent.py"], MULTIPLE),
        (["absent.py"], MULTIPLE),
        (["."], SERIALIZED),
        (["-m", "package"], SERIALIZED),
    ],
)
def test_command_lines_lead_to_the_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], level: str
) -> None:
    monkeypatch.chdir(tmp_path)
    text = f"import mpi4py\nmpi4py.rc.thread_level = 'serialized'\n{IMPORT}"
    (tmp_path / "package").mkdir()
    for name in ("__main__.py", "package/__main__.py"):
        (tmp_path / name).write_text(text)
    (tmp_path / "app.py").write_text("pass")
    assert asked_level(Program.parse(words)) == level
