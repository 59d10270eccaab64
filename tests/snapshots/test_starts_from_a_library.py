"""``python-mpi`` starts from a library what it would start plainly, in no other way."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import mpiimport
from tests.conftest import SERVED, but_everyday, interpreter, settle, wait_for
from tests.texts import EVERYDAY, read

from .baked import IMPORTS, PROGRAMS, USING, Baked
from .prepared import Prepared

OUTCOMES = read(PROGRAMS / "same_outcome.txt")
PLANT = "import os\nVALUE = os.environ.get('PLANTED', 'none')\n"
LEFT = "LEFT = os.open('/etc/passwd', os.O_RDONLY)\n"
TEXT = "import json, plant\nprint(plant.VALUE)"
IS_RESTORED = "os.readlink('/proc/self/exe').endswith('mpiimport-restore')"
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture(scope="module")
def once(prefix: Path, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    """A library that tests share, with the snapshot of a program."""
    prepared = Prepared(prefix, Baked(prefix, tmp_path_factory.mktemp("library")))
    prepared.baked.install()
    prepared.baked.module("plant", PLANT)
    prepared.prepare(prepared.baked.script(TEXT))
    return prepared


@pytest.fixture
def shared(once: Prepared) -> Iterator[Prepared]:
    """The shared library, which is made good again after a test."""
    (image,) = once.images
    saved = once.directory.with_name("saved")
    if not saved.exists():
        shutil.copy2(image, saved)
    yield once
    for path in (once.library, image):
        if path.exists():
            os.chown(path, os.geteuid(), os.getegid())
    if once.images == [image]:
        image.unlink()
        shutil.copy2(saved, image)


def write(prepared: Prepared, text: str = TEXT) -> str:
    """Change a program behind its imports. Return its path."""
    return prepared.baked.script(text)


def files_of(directory: Path) -> dict[str, str]:
    found = {path.name: path.read_text() for path in directory.iterdir()}
    for path in directory.iterdir():
        path.unlink()
    return found


def test_programs_do_what_they_do_plainly(prepared: Prepared) -> None:
    script = prepared.baked.script(IMPORTS)
    prepared.prepare(script)
    everyday = [name for name, text in OUTCOMES.items() if EVERYDAY in text.traits and name != "bad syntax"]
    for name in everyday:
        write(prepared, f"{IMPORTS}{OUTCOMES[name]}")
        plain = prepared.baked.plain(script, "one", "two", GIVEN="this")
        files = files_of(prepared.directory)
        started = prepared.start_restored(script, "one", "two", GIVEN="this")
        assert started == plain, name
        assert files_of(prepared.directory) == files


RANDOM = IMPORTS + "pid = os.fork()\nprint(os.urandom(8).hex(), random.random(), flush=True)\nif pid: os.wait()"


@pytest.mark.parametrize("version", but_everyday(SERVED, {"3.14"}))
def test_versions_of_python(version: str, prefix: Path, tmp_path: Path) -> None:
    """A C library since 2.41 keeps a state of random numbers in memory that a fork must not inherit."""
    subprocess.run([interpreter(version), "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    prepared = Prepared(prefix, Baked(prefix, tmp_path, str(tmp_path / "venv" / "bin" / "python")))
    settle(*(tmp_path / "venv").rglob("site-packages"))
    script = prepared.baked.script(IMPORTS)
    prepared.prepare(script)
    for name in ("output", "exception", "thread", "child", "fork", "streams", "main", "interrupted"):
        write(prepared, f"{IMPORTS}{OUTCOMES[name]}")
        assert prepared.start_restored(script, "one") == prepared.baked.plain(script, "one"), name
    write(prepared, RANDOM)
    drawn = [number for _ in range(2) for number in prepared.start_restored(script).stdout.split()]
    assert len(set(drawn)) == len(drawn) == 8


def test_what_imports_print_each_process_prints_and_nothing_that_prepares(prepared: Prepared) -> None:
    prepared.baked.module("loud", "print('imported')")
    script = prepared.baked.script("import json\nimport loud")
    assert "imported" not in prepared.prepare(script).splitlines()
    assert prepared.start_restored(script).stdout == "imported\n"


@pytest.mark.full
def test_another_python_that_comes_first_on_path_is_seen(prepared: Prepared, tmp_path: Path) -> None:
    first = tmp_path / "first"
    first.mkdir()
    path = f"{first}:{Path(prepared.baked.python).parent}:{os.environ['PATH']}"
    script = prepared.baked.script("import json, sys\nprint(sys.executable)")
    prepared.prepare(script, PATH=path)
    assert prepared.start_restored(script, PATH=path).stdout == f"{prepared.baked.python}\n"
    (first / "python").symlink_to("/usr/bin/python3")
    fresh = prepared.start_fresh("has changed since", script, PATH=path)
    assert str(first) in fresh.stdout


def test_the_rest_of_the_key_is_compared(shared: Prepared) -> None:
    script = write(shared)
    assert shared.start_fresh("PLANTED", script, PLANTED="set").stdout == "set\n"
    shared.start_fresh("OMP_*", script, OMP_NUM_THREADS="1")
    write(shared, "import json, re, plant\nprint(plant.VALUE)")
    assert shared.start_fresh("begins with other statements", script).stdout == "none\n"
    write(shared)
    beside = Path(shared.baked.script("VALUE = 'beside'", "plant.py"))
    assert shared.start_fresh("has another plant", script).stdout == "beside\n"
    beside.unlink()
    assert shared.start_restored(script).stdout == "none\n"


def test_why_there_is_none_is_said_where_more_is_asked_for(shared: Prepared) -> None:
    script, other = write(shared), shared.baked.script("print('other')", "other.py")
    relative = f"bin:{shared.environment()['PATH']}"
    for words, variables, why in (
        ([other], {}, f'the nearest one has the program "{script}", not "{other}"'),
        (["-u", script], {}, 'the nearest one has options of Python "", not "-u"'),
        (["-m", "json.tool", "--help"], {}, f'the program "{script}", not "-m json.tool"'),
        ([script], {"PATH": relative}, 'PATH has an entry that is not the same everywhere: "bin"'),
    ):
        shared.start_plainly(*words, **variables)
        first = shared.start(*words, **variables, MPIIMPORT_VERBOSE="1").ours()[0]
        assert first.startswith("mpiimport: no snapshot is used: ") and why in first, first


@pytest.mark.parametrize("switch", ["MPIIMPORT=0", "MPIIMPORT_DEBUG=1", "MPIIMPORT_RECORD={}", "MPIIMPORT_SNAPSHOT=0"])
def test_what_asks_for_another_start_wins(shared: Prepared, switch: str, tmp_path: Path) -> None:
    name, _, value = switch.partition("=")
    script = write(shared, f"import json, plant\nimport os\nprint({IS_RESTORED})")
    assert shared.start(script).stdout == "True\n"
    outcome = shared.start(script, **{name: value.format(tmp_path / "record")})
    assert (outcome.status, outcome.stdout) == (0, "False\n")
    assert "snapshot" not in outcome.stderr


def test_an_unbuffered_program_keeps_its_option_where_a_start_turns_back(prepared: Prepared) -> None:
    """The snapshot is of a program with -u; a function of its own fails when the memory is mapped already."""
    prepared.baked.install()
    prepared.baked.module("plant", f"import os\n{USING}snapshot.register_after_restore(lambda: os.stat('there'))")
    (prepared.baked.modules / "mpiimport").symlink_to(Path(mpiimport.__file__).parent)
    (prepared.directory / "there").touch()
    shown = f"print({IS_RESTORED}, sys.stdout.write_through, sys.orig_argv[1:])"
    script = write(prepared, f"import json, plant\nimport os, sys\n{shown}")
    made = prepared.try_to_prepare(prepared.entry_point, "-u", script)
    assert made.status == 0, made
    expected = f"True {['-u', script]}\n"
    assert prepared.start_restored("-u", script).stdout == f"True {expected}"
    assert prepared.start_plainly(script).stdout == f"False False {[script]}\n"
    (prepared.directory / "there").unlink()
    assert prepared.start_fresh("No such file", "-u", script).stdout == f"False {expected}"


def test_a_process_that_may_write_no_file_starts(shared: Prepared) -> None:
    script = write(shared, f"import json, plant\nimport os\nprint({IS_RESTORED})")
    assert shared.start(script, before=("sh", "-c", '(ulimit -f 0 && "$@") | cat', "sh")).stdout == "True\n"


@as_root
def test_files_of_another_user_are_not_believed(shared: Prepared) -> None:
    script, (image,) = write(shared), shared.images
    os.chown(image, 65534, 65534)
    assert shared.start_fresh("belongs to another user", script).stdout == "none\n"
    os.chown(shared.library, 65534, 65534)
    assert shared.start_plainly(script).stdout == "none\n"


def test_a_killed_maker_leaves_nothing_that_the_next_does_not_remove(shared: Prepared, tmp_path: Path) -> None:
    script = write(shared)
    for seconds in (0.6, 1.4, 2.2):
        process = shared.open(script, TMPDIR=str(tmp_path))
        time.sleep(seconds)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert shared.start_restored(script).stdout == "none\n"
    wait_for(lambda: not shared.at_work())
    for left in tmp_path.iterdir():
        # As if it had been a while.
        os.utime(left, (0, 0))
    shared.prepare(script, TMPDIR=str(tmp_path))
    assert [*tmp_path.iterdir()] == []
    (image,) = shared.images
    assert {path.name for path in image.parents[1].iterdir() if path.is_dir()} == {image.parent.name}
    shutil.copy2(image, shared.directory.with_name("saved"))


def test_why_there_is_no_snapshot(prepared: Prepared) -> None:
    prepared.baked.install()
    prepared.baked.module("plant", PLANT + LEFT)
    script = write(prepared, "import plant, json\nprint(1)")
    refused = prepared.try_to_prepare(prepared.entry_point, script)
    assert refused.status == 1, refused
    assert "mpiimport: nothing is prepared: no statement can be in a snapshot: line 1, " in refused.stderr
    assert "a file was left open: /etc/passwd" in refused.stderr and prepared.images == []
    assert prepared.start_plainly(script).stdout == "1\n"
    for name in ("first", "second"):
        prepared.baked.module(name, "")
    write(prepared, "import json\nimport plant\nimport first, second\nprint(1)")
    ends = (
        "it ends before line 2, `import plant`: a file was left open: /etc/passwd; 2 more modules would be in it "
        "if that statement came behind their imports"
    )
    assert ends in prepared.prepare(script)
    assert prepared.start_restored(script).stdout == "1\n"


def test_a_link_to_a_library_is_followed(prepared: Prepared, tmp_path: Path) -> None:
    script, link = write(prepared), tmp_path / "link"
    prepared.library.mkdir(0o700, exist_ok=True)
    link.symlink_to(prepared.library)
    prepared.prepare(script, MPIIMPORT_SNAPSHOTS=str(link))
    prepared.start_restored(script, MPIIMPORT_SNAPSHOTS=str(link))


@as_root
def test_a_library_where_nothing_can_be_executed_is_used(shared: Prepared) -> None:
    """What is executed lies in the files of libraries."""
    script, at = write(shared, f"import json, plant\nimport os\nprint({IS_RESTORED})"), shared.library
    mount = f'mount --bind {at} {at} && mount -o remount,bind,noexec {at} && exec "$@"'
    assert shared.start(script, before=("unshare", "-m", "sh", "-c", mount, "sh")).stdout == "True\n"


@as_root
def test_a_library_that_is_read_only_is_used_and_said_to_be_so(shared: Prepared) -> None:
    script, at = write(shared), shared.library
    mount = f'mount --bind {at} {at} && mount -o remount,bind,ro {at} && exec "$@"'
    read_only = ("unshare", "-m", "sh", "-c", mount, "sh")
    assert shared.start(script, before=read_only).stdout == "none\n"
    refused = shared.run([*read_only, *shared.command(shared.entry_point, script)])
    assert refused.status == 1 and "Traceback" not in refused.stderr, refused
    assert "cannot be written to" in refused.stderr or "Read-only file system" in refused.stderr, refused


@as_root
def test_a_full_directory_for_temporary_files_is_passed_over(shared: Prepared, tmp_path: Path) -> None:
    script, mount = write(shared), f'mount -t tmpfs -o size=16k none {tmp_path} && exec "$@"'
    command = ["unshare", "-m", "sh", "-c", mount, "sh", *shared.command(shared.entry_point, script)]
    made = shared.run(command, TMPDIR=str(tmp_path))
    assert made.status == 0 and "is prepared" in made.stdout, made


def test_without_a_locale(prepared: Prepared) -> None:
    """Python sets LC_CTYPE then (PEP 538), for its children, too."""
    script = prepared.baked.script("import json, os\nprint(os.environ.get('LC_CTYPE'), os.getenv('LANG'))")
    prepared.prepare(script, LANG="", LC_ALL="")
    started = prepared.start_restored(script, LANG="", LC_ALL="")
    assert started == prepared.baked.plain(script, LANG="", LC_ALL="")
    assert started.stdout == "C.UTF-8 \n"
