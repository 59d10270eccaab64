"""What Python runs before each program, .pth files and sitecustomize, is done in each start as plainly."""

import subprocess
import sys
from pathlib import Path

import pytest

from .baked import Baked

SHOWN = (
    "import json, os, sys\nprint(getattr(sys, 'kept', None), os.environ.get('SITE'), sys.path[-1])\n"
    "sys.stdout.flush()\nos.system('echo $SITE')"
)


def test_a_variable_that_sitecustomize_reads_is_in_the_key(baked: Baked) -> None:
    baked.module("sitecustomize", "import os, sys\nsys.kept = os.environ.get('JOB')")
    script = baked.script(SHOWN)
    baked.bake(script, JOB="1")
    assert baked.start_restored(script, JOB="1") == baked.plain(script, JOB="1")
    assert baked.start_fresh("JOB", script, JOB="2").stdout == baked.plain(script, JOB="2").stdout


@pytest.mark.parametrize(
    "text",
    [
        "os.environ.pop('JOB', None)",
        "try:\n    del os.environ['JOB']\nexcept KeyError:\n    pass",
        "os.unsetenv('JOB')",
        "os.environ['JOB'] = '1'",
        "os.environ.setdefault('JOB', '3')",
        "sys.kept = dict(os.environ).get('JOB')",
        "sys.kept = os.environ.copy().get('JOB')",
        "sys.kept = 'JOB' in os.environ",
        "sys.kept = posix.environ.get(b'JOB')",
        "sys.kept = dict(posix.environ).get(b'JOB')",
    ],
)
@pytest.mark.parametrize("given", [{}, {"JOB": "1"}], ids=["unset", "set"])
def test_each_way_to_a_variable_comes_out_as_plainly(baked: Baked, text: str, given: dict[str, str]) -> None:
    baked.module("sitecustomize", f"import os, posix, sys\n{text}")
    script = baked.script(SHOWN + "\nprint(os.environ.get('JOB'), flush=True)\nos.system('echo $JOB')")
    baked.bake(script, **given)
    assert baked.start_restored(script, **given) == baked.plain(script, **given)
    for other in ({"JOB": "1"}, {"JOB": "2"}, {}):
        assert baked.start(script, before=(), **other).stdout == baked.plain(script, **other).stdout


def test_a_file_that_sitecustomize_reads_is_looked_at(baked: Baked, tmp_path: Path) -> None:
    (tmp_path / "settings").write_text("one")
    baked.module("sitecustomize", f"import sys\nwith open('{tmp_path}/settings') as file:\n    sys.kept = file.read()")
    script = baked.script(SHOWN)
    baked.bake(script)
    assert baked.start_restored(script) == baked.plain(script)
    (tmp_path / "settings").write_text("two")
    assert baked.start_fresh("settings", script).stdout.startswith("two")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("sys.kept = os.urandom(8)", "entropy"),
        ("sys.kept = os.getpid()", "a process number"),
        ("sys.kept = list(sys.argv)", "the command line"),
        ("os.umask(0o77)", "what the kernel keeps of a process"),
        ("os.nice(1)", "what the kernel keeps of a process"),
        ("resource.setrlimit(resource.RLIMIT_NOFILE, (99, 99))", "limits"),
        ("print('hello')", "output"),
    ],
)
def test_where_the_site_asks_for_what_belongs_to_a_process_there_is_no_image(baked: Baked, text: str, why: str) -> None:
    baked.module("sitecustomize", f"import os, resource, sys\n{text}")
    outcome = baked.try_to_bake(baked.script(SHOWN))
    assert outcome.status == 1 and "what Python runs before each program" in outcome.stderr
    assert outcome.stderr.endswith(f" {why}\n")


def test_a_line_of_a_pth_file_is_the_sites(baked: Baked, tmp_path: Path) -> None:
    """setuptools, coverage and editable installs have such lines."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    (packages,) = (tmp_path / "venv").rglob("site-packages")
    (packages / "line.pth").write_text("import os, sys; sys.path.append(os.environ.get('EXTRA', '/nowhere'))\n")
    baked.python = str(tmp_path / "venv" / "bin" / "python")
    script = baked.script(SHOWN)
    baked.bake(script)
    assert baked.start_restored(script) == baked.plain(script)
    assert baked.start_fresh("EXTRA", script, EXTRA="/there").stdout == baked.plain(script, EXTRA="/there").stdout
