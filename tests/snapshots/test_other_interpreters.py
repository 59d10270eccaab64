"""Another interpreter in the process (PEP 734) begins as it does plainly: command line, search path, flags, site."""

from pathlib import Path

import pytest

from lab.ranks import Outcome, run
from tests.conftest import SERVED, but_everyday, interpreter

from .baked import Baked
from .prepared import Prepared

# What it sees, less our entry point's option; and a module beside the script, that Python 3.12 and newer find.
SCRIPT = """
import json
import sys
HERE
try:
    import _interpreters as interpreters
    run = interpreters.exec
except ImportError:
    import _xxsubinterpreters as interpreters
    run = interpreters.run_string
other = interpreters.create()
run(other, '''
import sys
print(sys.argv, sys.orig_argv[1:], sys.path, sys.flags, "site" in sys.modules)
try:
    import graph
    print(graph.__file__)
except ImportError as exc:
    print(exc)
sys.stdout.flush()
''')
interpreters.destroy(other)
"""


def with_script(prefix: Path, directory: Path, version: str, here: str = "") -> tuple[Baked, str]:
    baked = Baked(prefix, directory, str(interpreter(version)))
    baked.script("", "graph.py")
    return baked, baked.script(SCRIPT.replace("HERE", here))


def in_a_package(baked: Baked) -> None:
    """The script is a module of the tree as well."""
    package = baked.modules / "package"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "app.py").write_text(SCRIPT.replace("HERE", ""))


def same(outcome: Outcome, plain: Outcome) -> None:
    assert (outcome.status, outcome.stdout, outcome.stderr) == (plain.status, plain.stdout, plain.stderr)
    assert plain.stdout.count("\n") == 2, plain


@pytest.mark.parametrize("here", ["", "def here(): pass\nhere()"], ids=["imports", "a begin that was run"])
@pytest.mark.parametrize("version", but_everyday(SERVED, ("3.10", "3.12", "3.13", "3.15")))
def test_one_of_a_restored_process(version: str, here: str, prefix: Path, tmp_path: Path) -> None:
    baked, script = with_script(prefix, tmp_path, version, here)
    baked.bake(script)
    same(baked.start_restored(script, "a", "--b"), baked.plain(script, "a", "--b"))


@pytest.mark.parametrize("version", but_everyday(SERVED, ("3.10", "3.12", "3.14")))
def test_one_of_a_restored_module(version: str, prefix: Path, tmp_path: Path) -> None:
    baked, _ = with_script(prefix, tmp_path, version)
    in_a_package(baked)
    words = ("-m", "package.app")
    bake = [*baked.bake_command(words[0]), *words[1:]]
    assert run(bake, baked.environment(), 120, tmp_path / "work").status == 0
    outcome, plain = baked.start_restored(*words, "a"), baked.plain(*words, "a")
    assert (outcome.stdout, outcome.stderr) == (plain.stdout, plain.stderr)


@pytest.mark.parametrize("memory", ["", "debug"])
@pytest.mark.parametrize("version", SERVED)
def test_the_process_ends_whatever_gives_it_memory(version: str, memory: str, prefix: Path, tmp_path: Path) -> None:
    baked = Baked(prefix, tmp_path, str(interpreter(version)))
    prepared = Prepared(prefix, baked)
    script = baked.script("import json\nprint(json.dumps(1))")
    named = {"PYTHONMALLOC": memory} if memory else {}
    entry_point = ("--python", baked.python, script)
    assert prepared.start(*entry_point, **named) == baked.plain(script, **named)
    baked.bake(script, **named)
    assert baked.start_restored(script, **named) == baked.plain(script, **named)


@pytest.mark.parametrize("how", ["script", "module"])
@pytest.mark.parametrize("version", but_everyday(SERVED, ("3.11", "3.12", "3.14")))
def test_one_of_a_process_behind_the_entry_point(version: str, how: str, prefix: Path, tmp_path: Path) -> None:
    """No snapshot, and no other rank: it steps aside."""
    baked, script = with_script(prefix, tmp_path, version)
    prepared = Prepared(prefix, baked)
    words = [script] if how == "script" else ["-m", "app"]
    named = {"PYTHONPATH": str(Path(script).parent)} if how == "module" else {}
    same(prepared.start("--python", baked.python, *words, "a", **named), baked.plain(*words, "a", **named))
