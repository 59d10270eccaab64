"""A module that runs as a program, ``python -m NAME``, starts from an image and does what it does plainly."""

import shutil
import zipfile
from pathlib import Path

import pytest

from lab.ranks import Outcome, run
from lab.syscalls import calls_of, on_tree, trace
from tests.conftest import but_everyday, settle

from .baked import SECONDS, Baked
from .prepared import Prepared

pytestmark = pytest.mark.usefixtures("installed")

# What a module of a program sees of itself, less the addresses of objects.
TEXT = """\
'''What it does.'''
IMPORT
import json, sys

def show():
    names = globals()
    print(__name__, __file__, __package__, __doc__, names.get("__cached__"), sorted(names))
    print(__spec__.name, __spec__.origin, __spec__.parent, __spec__.cached, type(__loader__).__name__, __loader__.path)
    print(sys.argv, sys.orig_argv[1:], sys.path, sorted(sys.modules), getattr(part, "value", ""))

show()
if "fail" in sys.argv:
    raise ValueError("no")
sys.exit(7 if "status" in sys.argv else 0)
"""
IS_RESTORED = "\nimport os; print(os.readlink('/proc/self/exe').endswith('mpiimport-restore'))"
# Module -> (its file below a directory, the import of a module that lies in the tree).
IN_THE_TREE = {
    "tool": ("tool/__main__.py", "from . import part"),
    "tool.sub.run": ("tool/sub/run.py", "from .. import part"),
    "alone": ("alone.py", "from tool import part"),
}
BESIDE = {
    "app": ("app.py", "from tool import part"),
    "own": ("own/__main__.py", "from tool import part"),
    "own.sub.run": ("own/sub/run.py", "import tool.part as part"),
}


@pytest.fixture
def tree(baked: Baked) -> Baked:
    return with_tool(baked)


def with_tool(baked: Baked) -> Baked:
    """The package ``tool`` is in the tree."""
    tool = baked.modules / "tool"
    (tool / "sub").mkdir(parents=True)
    (tool / "__init__.py").write_text("import re\n")
    (tool / "sub" / "__init__.py").write_text("from .. import part\n")
    (tool / "part.py").write_text("value = 'of the tree'\n")
    return baked


def work(baked: Baked) -> Path:
    """The current directory of programs."""
    return baked.image.parent / "work"


def put(directory: Path, name: str, text: str) -> Path:
    """Write a file of a program, and the packages above it."""
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    for parent in path.relative_to(directory).parents:
        if parent.name:
            (directory / parent / "__init__.py").touch()
    path.write_text(text)
    settle(*directory.rglob("*"))
    return path


def bake(baked: Baked, *words: str, **environment: str) -> Outcome:
    return run([*baked.bake_command("-m"), *words], baked.environment(**environment), SECONDS, work(baked))


def same(baked: Baked, name: str) -> None:
    for word in ("one", "fail", "status"):
        plain = baked.plain("-m", name, word)
        assert plain.stdout.count("\n") == 3, plain
        assert baked.start_restored("-m", name, word) == plain


@pytest.mark.parametrize("name", but_everyday(IN_THE_TREE, set()))
def test_modules_of_the_tree(tree: Baked, name: str) -> None:
    file, line = IN_THE_TREE[name]
    put(tree.modules, file, TEXT.replace("IMPORT", line))
    assert bake(tree, name).status == 0
    same(tree, name)
    assert tree.start_restored(f"-m{name}") == tree.plain(f"-m{name}")


@pytest.mark.parametrize("name", but_everyday(BESIDE, {"own.sub.run"}))
def test_modules_of_the_current_directory(tree: Baked, name: str) -> None:
    file, line = BESIDE[name]
    put(work(tree), file, TEXT.replace("IMPORT", line))
    assert bake(tree, name).status == 0
    same(tree, name)


@pytest.mark.parametrize("end", ["", "raise ValueError('last')"])
def test_what_waits_in_a_buffer_is_written_when_it_is_plainly(tree: Baked, end: str) -> None:
    put(
        work(tree),
        "own/run.py",
        "import tool, os, atexit\natexit.register(os.write, 1, b'handler\\n')\nprint(1)\n" + end,
    )
    assert bake(tree, "own.run").status == 0
    plain = tree.plain("-m", "own.run")
    assert plain.stdout == "handler\n1\n"
    assert tree.start_restored("-m", "own.run") == plain


@pytest.mark.full
def test_a_package_beside_is_imported_when_its_turn_comes(tree: Baked) -> None:
    text = "import sys\nfirst = 'tool' in sys.modules\nfrom . import own_part\n"
    put(work(tree), "own/own_part.py", "")
    put(work(tree), "own/run.py", "import own, tool\nprint(own.first, tool.__name__)" + IS_RESTORED)
    (work(tree) / "own" / "__init__.py").write_text(text)
    settle(work(tree) / "own")
    assert bake(tree, "own.run").status == 0
    assert tree.start_restored("-m", "own.run").stdout == "False tool\nTrue\n"


def test_what_is_changed_beside_is_seen(tree: Baked) -> None:
    path = put(work(tree), "own/run.py", "import json, tool\nprint('first')" + IS_RESTORED)
    assert bake(tree, "own.run").status == 0
    path.write_text("import json, tool\nprint('second')" + IS_RESTORED)
    assert tree.start_restored("-m", "own.run").stdout == "second\nTrue\n"
    path.write_text("import json, re, tool\nprint('third')" + IS_RESTORED)
    assert tree.start_fresh("begins with other statements", "-m", "own.run").stdout == "third\nFalse\n"
    path.write_text("import json, tool\nprint('second')" + IS_RESTORED)
    package = path.with_name("__init__.py")
    package.write_text("print('package')\n")
    assert tree.start_fresh("begins with other statements", "-m", "own.run").stdout == "package\nsecond\nFalse\n"
    package.write_text("")
    hidden = put(work(tree), "re.py", "print('hides')")
    tree.start_fresh("has another re", "-m", "own.run")
    hidden.unlink()
    compiled = path.with_name("run.abi3.so")
    compiled.touch()
    assert tree.start("-m", "own.run") == tree.plain("-m", "own.run")
    compiled.unlink()
    assert tree.start_restored("-m", "own.run").stdout == "second\nTrue\n"


@pytest.mark.full
def test_modules_that_have_no_image(tree: Baked) -> None:
    namespace = work(tree) / "space"
    namespace.mkdir()
    (namespace / "run.py").write_text("import json\n")
    archive = work(tree) / "some.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("zipped.py", "import json\n")
    put(work(tree), "bare.py", "print(1)\nimport json\n")
    put(work(tree), "package/other.py", "")
    put(tree.modules, "tool/__main__.py", "import json\n")
    (tree.modules / "tool" / "__init__.py").write_text("from . import __main__\n")
    settle(*tree.modules.rglob("*"))
    path = f"{tree.modules}:{archive}"
    wrong = {}
    for name, why in {
        "space.run": "space is no source file",
        "zipped": "zipped is no source file",
        "runpy": "runpy is no source file",
        "bare": "no statement can be in a snapshot: line 1, `print(1)`: it prints",
        "missing": "there is no module missing",
        "package": "there is no module package",
        "mpi4py": "mpi4py belongs to MPI",
        "tool": "tool.__main__ is imported before it runs",
    }.items():
        refused = bake(tree, name, PYTHONPATH=path)
        if refused.status != 1 or why not in refused.stderr:
            wrong[name] = refused
    assert not wrong


@pytest.mark.parametrize(
    "line", but_everyday(["timeit -n 1 -r 1 1", "json.tool --help", "unittest -h"], {"unittest -h"})
)
def test_modules_of_the_standard_library(baked: Baked, line: str) -> None:
    words = line.split()
    assert bake(baked, words[0]).status == 0
    started, plain = (start("-m", *words) for start in (baked.start_restored, baked.plain))
    assert (started.status, started.stderr) == (plain.status, plain.stderr)
    assert started.stdout == plain.stdout or words[0] == "timeit"


@pytest.fixture
def prepared(prefix: Path, tree: Baked) -> Prepared:
    return Prepared(prefix, tree)


def test_a_module_is_prepared_by_its_name(prepared: Prepared) -> None:
    put(prepared.baked.modules, "tool/__main__.py", TEXT.replace("IMPORT", "from . import part"))
    made = prepared.try_to_prepare(prepared.entry_point, "-m", "tool")
    assert made.status == 0 and "module tool is prepared" in made.stdout, made
    for word in ("one", "fail", "status"):
        assert prepared.start_restored("-m", "tool", word) == prepared.baked.plain("-m", "tool", word)
    # Tasks may have directories of their own, but for one that has such a module itself.
    elsewhere = prepared.directory.parent / "elsewhere"
    elsewhere.mkdir()
    outcome = run([prepared.entry_point, "-m", "tool"], prepared.environment(), SECONDS, elsewhere)
    assert "of the tree" in outcome.stdout and outcome.stderr == "", outcome
    (elsewhere / "tool.py").write_text("print('another')\n")
    outcome = run([prepared.entry_point, "-m", "tool"], prepared.environment(), SECONDS, elsewhere)
    assert (outcome.stdout, outcome.ours()) == ("another\n", []), outcome
    assert prepared.start_fresh("variable PYTHONPATH", "-m", "tool", PYTHONPATH=f"{prepared.baked.modules}:/nowhere")
    part = prepared.baked.modules / "tool" / "part.py"
    part.write_text("value = 'changed'\n")
    assert prepared.start_fresh("part.py", "-m", "tool").stdout.endswith("changed\n")


@pytest.mark.full
def test_pytest(baked: Baked) -> None:
    put(work(baked), "test_it.py", "import json\ndef test_it(): assert json.loads('1') == 1\n")
    assert bake(baked, "pytest").status == 0
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider")
    started, plain = (start(*words) for start in (baked.start_restored, baked.plain))
    assert "1 passed" in started.stdout, started
    assert (started.status, started.stderr) == (plain.status, plain.stderr)


@pytest.mark.skipif(shutil.which("strace") is None, reason="no strace")
@pytest.mark.parametrize("looks", [0, 1])
def test_python_mpi_looks_into_the_current_directory_once_where_there_is_a_library(
    prepared: Prepared, looks: int
) -> None:
    """Which module that is tells the name of the snapshot; where none can be nobody need know."""
    if looks:
        prepared.library.mkdir(0o700)
    outcome, _ = trace([prepared.entry_point, "-m", "this"], prepared.environment(), prepared.directory, SECONDS)
    assert outcome.status == 0 and outcome.stdout.startswith("The Zen")
    calls = on_tree(calls_of(prepared.directory, prepared.entry_point), [prepared.directory])
    assert [call.name for call in calls if call.name != "getcwd"] == ["openat"] * looks
