"""A session keeps images beside its stores, and ``python-mpi`` starts from them what it would start plainly."""

import ast
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mpiimport
from lab.ranks import run
from mpiimport.runtime.store.place import REFUSED, STORES
from mpiimport.runtime.store.store import SEAL
from tests.conftest import SERVED, but_everyday, interpreter, settle, wait_for

from .conftest import SECONDS, Warm
from .session import TRUSTED, Session
from .test_hooks import USING
from .test_same_outcome import EVERYDAY, IMPORTS, NUMPY, PROGRAMS

PLANT = "import os\nVALUE = os.environ.get('PLANTED', 'none')\n"
LEFT = "LEFT = os.open('/etc/passwd', os.O_RDONLY)\n"
TEXT = "import json, plant\nprint(plant.VALUE)"
IS_WARM = "os.readlink('/proc/self/exe').endswith('mpiimport-warm')"
NONE = "none is kept for this program"
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
def session(prefix: Path, warm: Warm, tmp_path: Path) -> Session:
    return Session(prefix, warm, tmp_path)


@pytest.fixture(scope="module")
def begun(prefix: Path, tmp_path_factory: pytest.TempPathFactory) -> Session:
    """One session that tests share, whose program has an image."""
    directory = tmp_path_factory.mktemp("session")
    session = Session(prefix, Warm(prefix, directory), directory)
    session.warm.install()
    session.warm.module("plant", PLANT)
    session.begin(session.warm.script(TEXT))
    return session


@pytest.fixture
def kept(begun: Session) -> Iterator[Session]:
    """The shared session, which is made good again after a test."""
    place, (image,) = begun.place(), begun.images()
    saved = begun.directory.parent / "saved"
    if not saved.exists():
        shutil.copy2(image, saved)
    yield begun
    os.chown(place, os.geteuid(), os.getegid())
    place.chmod(0o700)
    if begun.images() == [image]:
        os.chown(image, os.geteuid(), os.getegid())
        shutil.copy2(saved, image)
    else:
        # It was made anew.
        saved.unlink()


def write(session: Session, text: str = TEXT) -> str:
    """Change a program behind its imports. Return its path."""
    return session.warm.script(text)


def files_of(directory: Path) -> dict[str, str]:
    found = {path.name: path.read_text() for path in directory.iterdir()}
    for path in directory.iterdir():
        path.unlink()
    return found


def test_programs_do_what_they_do_plainly(session: Session) -> None:
    script = session.warm.script(IMPORTS)
    session.begin(script)
    for name in sorted(EVERYDAY - {"bad syntax"}):
        write(session, IMPORTS + PROGRAMS[name])
        plain = session.warm.plain(script, "one", "two", GIVEN="this")
        files = files_of(session.directory)
        started = session.start_warm(script, "one", "two", GIVEN="this")
        assert started == plain, name
        assert files_of(session.directory) == files


RANDOM = IMPORTS + "pid = os.fork()\nprint(os.urandom(8).hex(), random.random(), flush=True)\nif pid: os.wait()"


@pytest.mark.parametrize("version", but_everyday(SERVED, {"3.14"}))
def test_versions_of_python(version: str, prefix: Path, tmp_path: Path) -> None:
    """A C library since 2.41 keeps a state of random numbers in memory that a fork must not inherit."""
    subprocess.run([interpreter(version), "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    session = Session(prefix, Warm(prefix, tmp_path, str(tmp_path / "venv" / "bin" / "python")), tmp_path)
    settle(*(tmp_path / "venv").rglob("site-packages"))
    script = session.warm.script(IMPORTS)
    session.begin(script)
    for name in ("output", "exception", "thread", "child", "fork", "streams", "main", "interrupted"):
        write(session, IMPORTS + PROGRAMS[name])
        assert session.start_warm(script, "one") == session.warm.plain(script, "one"), name
    write(session, RANDOM)
    drawn = [number for _ in range(2) for number in session.start_warm(script).stdout.split()]
    assert len(set(drawn)) == len(drawn) == 8


def test_what_imports_print_each_process_prints_and_nothing_that_begins_a_session(session: Session) -> None:
    session.warm.module("loud", "print('imported')")
    script = session.warm.script("import json\nimport loud")
    session.begin(script)
    assert session.start_warm(script).stdout == "imported\n"


@pytest.mark.full
def test_numpy_and_scipy_from_one_file_of_the_node(session: Session) -> None:
    """Nothing but the image and its starter is mapped, so nobody needs the tree any more."""
    mapped = "\nprint({line.split()[-1] for line in open('/proc/self/maps') if '/' in line}, flush=True)"
    script = session.warm.script(NUMPY + mapped)
    said = session.begin(script)
    assert "a snapshot of script" in said and "modules" in said
    plain, started = session.warm.plain(script), session.start_warm(script)
    assert started.stdout.splitlines()[:2] == plain.stdout.splitlines()[:2]
    (image,) = session.images()
    maps = started.stdout.splitlines()[2]
    mapped_from = set(ast.literal_eval(maps))
    assert str(image) in mapped_from
    others = {path for path in mapped_from if not path.startswith(f"{image.parent}/")}
    assert others == {session.warm.starter}


def test_within_a_session_the_tree_is_taken_to_be_as_it_was_and_elsewhere_looked_at(session: Session) -> None:
    session.warm.install()
    module = session.warm.module("plant", PLANT)
    script = write(session)
    session.begin(script)
    for keep in ("session", "auto", "never"):
        assert session.start_warm(script, MPIIMPORT_KEEP=keep).stdout == "none\n"
    module.write_text("VALUE = 'changed'")
    assert session.start_warm(script).stdout == "none\n"
    fresh = session.start_fresh("plant.py", script, MPIIMPORT_KEEP="auto")
    assert fresh.stdout == "changed\n"
    # Even where it is gone.
    module.unlink()
    assert session.start_warm(script).stdout == "none\n"


def test_own_code_that_has_changed_is_executed_behind_the_base(session: Session) -> None:
    module = session.warm.module("plant", PLANT)
    script = write(session)
    session.begin(script)
    assert session.start_warm(script).stdout == "none\n"
    module.write_text(PLANT + "VALUE = 'changed'\n")
    started = session.start_warm(script, MPIIMPORT_KEEP="auto")
    assert (started.stdout, started.stderr) == ("changed\n", "")


@pytest.mark.full
def test_elsewhere_another_python_that_comes_first_on_path_is_seen(session: Session, tmp_path: Path) -> None:
    first = tmp_path / "first"
    first.mkdir()
    path = f"{first}:{Path(session.warm.python).parent}:{os.environ['PATH']}"
    script = session.warm.script("import json, sys\nprint(sys.executable)")
    session.begin(script, PATH=path)
    assert session.start_warm(script, PATH=path, MPIIMPORT_KEEP="auto").stdout == f"{session.warm.python}\n"
    (first / "python").symlink_to("/usr/bin/python3")
    fresh = session.start_fresh("has changed since", script, PATH=path, MPIIMPORT_KEEP="auto")
    assert str(first) in fresh.stdout


def test_the_rest_of_the_key_is_compared_within_a_session_too(kept: Session) -> None:
    script = write(kept)
    assert kept.start_fresh("PLANTED", script, PLANTED="set").stdout == "set\n"
    kept.start_fresh("OMP_*", script, OMP_NUM_THREADS="1")
    write(kept, "import json, re, plant\nprint(plant.VALUE)")
    assert kept.start_fresh("begins with other statements", script).stdout == "none\n"
    write(kept)
    beside = Path(kept.warm.script("VALUE = 'beside'", "plant.py"))
    assert kept.start_fresh("has another plant", script).stdout == "beside\n"
    beside.unlink()
    assert kept.start_warm(script).stdout == "none\n"


def test_a_program_that_has_none(kept: Session) -> None:
    other = kept.warm.script("print('other')", "other.py")
    assert kept.start_fresh(NONE, other).stdout == "other\n"
    relative = f"bin:{kept.environment()['PATH']}"
    assert kept.start_fresh("same everywhere", write(kept), PATH=relative).stdout == "none\n"


@pytest.mark.parametrize(
    "switch",
    ["MPIIMPORT=0", "MPIIMPORT_DEBUG=1", "MPIIMPORT_RECORD={}", "MPIIMPORT_WARM=0"],
)
def test_what_asks_for_another_start_wins(kept: Session, switch: str, tmp_path: Path) -> None:
    name, _, value = switch.partition("=")
    script = write(kept, f"import json, plant\nimport os\nprint({IS_WARM})")
    assert kept.start(script).stdout == "True\n"
    outcome = kept.start(script, **{name: value.format(tmp_path / "record")})
    assert (outcome.status, outcome.stdout) == (0, "False\n")
    assert "image" not in outcome.stderr


def test_an_unbuffered_program_keeps_its_option_where_a_start_turns_back(session: Session) -> None:
    """The image is of a program with -u; a function of its own fails when the memory is mapped already."""
    session.warm.install()
    session.warm.module("plant", f"import os\n{USING}snapshot.register_after_restore(lambda: os.stat('there'))")
    (session.warm.modules / "mpiimport").symlink_to(Path(mpiimport.__file__).parent)
    (session.directory / "there").touch()
    shown = f"print({IS_WARM}, sys.stdout.write_through, sys.orig_argv[1:])"
    script = write(session, f"import json, plant\nimport os, sys\n{shown}")
    begun = run([*session.command("-u"), script], session.environment(), SECONDS, session.directory)
    assert begun.status == 0, begun
    expected = f"True {['-u', script]}\n"
    assert session.start_warm("-u", script).stdout == f"True {expected}"
    assert session.start_fresh(NONE, script).stdout == f"False False {[script]}\n"
    (session.directory / "there").unlink()
    assert session.start_fresh("No such file", "-u", script).stdout == f"False {expected}"


def test_only_rank_0_says_it(kept: Session) -> None:
    script = write(kept)
    assert kept.start(script, PLANTED="set", PMI_RANK="1").stderr == ""
    fresh = kept.start(script, PLANTED="set", PMI_RANK="0", PMI_SIZE="1", MPI_LOCALNRANKS="1")
    assert fresh.stderr.startswith("mpiimport: the snapshot is not used: ")


@pytest.mark.parametrize("at", [0.0, 0.01, 0.5, 0.999])
def test_an_image_that_somebody_has_written_to(kept: Session, at: float) -> None:
    script, (image,) = write(kept), kept.images()
    with image.open("r+b") as stream:
        stream.seek(int(at * image.stat().st_size))
        byte = stream.read(1)
        stream.seek(-1, os.SEEK_CUR)
        stream.write(bytes([byte[0] ^ 1]))
    assert kept.start_fresh("mpiimport: the snapshot is not used", script).stdout == "none\n"


def test_a_process_that_may_write_no_file_starts(kept: Session) -> None:
    script = write(kept, f"import json, plant\nimport os\nprint({IS_WARM})")
    assert kept.start(script, before=("sh", "-c", '(ulimit -f 0 && "$@") | cat', "sh")).stdout == "True\n"


def test_an_image_that_is_cut_or_gone(kept: Session) -> None:
    script, (image,) = write(kept), kept.images()
    os.truncate(image, image.stat().st_size // 2)
    os.utime(image, ns=(0, SEAL))
    assert kept.start_fresh("its sizes do not fit", script).stdout == "none\n"
    lock = image.parent / "lock"
    lock.rename(image.parent / "hidden")
    assert kept.start_fresh("it is being removed", script).stdout == "none\n"
    (image.parent / "hidden").rename(lock)
    image.unlink()
    assert kept.start_fresh("cannot be opened", script).stdout == "none\n"
    image.touch()


def test_a_place_that_others_can_write_to_is_ignored(kept: Session) -> None:
    script = write(kept)
    kept.place().chmod(0o777)
    assert kept.start_fresh(NONE, script).stdout == "none\n"


@as_root
def test_a_place_of_another_user_is_ignored(kept: Session) -> None:
    script, (image,) = write(kept), kept.images()
    os.chown(image, 65534, 65534)
    assert kept.start_fresh("belongs to another user", script).stdout == "none\n"
    os.chown(kept.place(), 65534, 65534)
    assert kept.start_fresh(NONE, script).stdout == "none\n"


def test_a_killed_maker_leaves_nothing_that_the_next_does_not_remove(kept: Session) -> None:
    script = write(kept)
    before = set((kept.place() / STORES).iterdir())
    for seconds in (0.6, 1.4, 2.2):
        process = kept.open(script)
        time.sleep(seconds)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert kept.start_warm(script).stdout == "none\n"
    wait_for(lambda: not working_for(kept))
    for store in set((kept.place() / STORES).iterdir()) - before:
        # As if it had been a while.
        os.utime(store / "lock", (0, 0))
    kept.begin(script)
    left = {store.name for store in (kept.place() / STORES).iterdir()}
    assert left == {link.readlink().name for link in (kept.place() / "programs").iterdir()}


def working_for(session: Session) -> list[str]:
    """The processes that do anything for a place: the one that was stopped to be copied, too."""
    place = str(session.place()).encode()
    return [process.name for process in Path("/proc").glob("[0-9]*") if place in command_line(process)]


def command_line(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


def test_status_and_stop(session: Session) -> None:
    script = write(session, "import json")
    session.begin(script)
    lines = session.call("status").stdout.splitlines()
    (line,) = [line for line in lines if "warm image" in line]
    assert script in line and "no process so far" in line and " MiB, filled " in line
    limited = ("bash", "-c", 'ulimit -Ss 4096; exec "$@"', "bash")
    session.start_fresh("limit of the stack", script, before=limited)
    (line,) = [line for line in session.call("status").stdout.splitlines() if "warm image" in line]
    assert "no process so far" in line, "what is refused uses none"
    write(session, "import json\nprint(flush=True)\nimport time; time.sleep(1000)")
    command = [session.door, script]
    process = subprocess.Popen(
        command,
        env=session.environment(**TRUSTED),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        cwd=session.directory,
    )
    assert process.stdout and process.stdout.readline()
    (line,) = [line for line in session.call("status").stdout.splitlines() if "warm image" in line]
    assert "1 now" in line
    stopped = session.call("stop")
    assert stopped.status == 1 and f"or fill it: {process.pid};" in stopped.stdout
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert session.call("stop").status == 0
    assert list(session.stores.iterdir()) == []
    assert session.start_fresh(NONE, write(session, "print(1)")).stdout == "1\n"


def test_why_there_is_no_image(session: Session) -> None:
    session.warm.install()
    session.warm.module("plant", PLANT + LEFT)
    script = write(session, "import plant, json\nprint(1)")
    begun = session.try_to_begin(script)
    assert begun.status == 1 and "no warm image is kept: no statement can be in a snapshot: line 1, " in begun.stderr
    assert "a file was left open: /etc/passwd" in "".join(session.refusals())
    assert f"script {script}: no warm image: " in session.call("status").stdout
    assert session.start_fresh("a file was left open", script).stdout == "1\n"
    for name in ("first", "second"):
        session.warm.module(name, "")
    write(session, "import json\nimport plant\nimport first, second\nprint(1)")
    ends = (
        "it ends before line 2, `import plant`: a file was left open: /etc/passwd; 2 more modules would be in it "
        "if that statement came behind their imports"
    )
    assert ends in session.begin(script)
    assert session.start_warm(script).stdout == "1\n"
    assert session.images(REFUSED) == []
    assert f"    {ends}\n" in session.call("status").stdout


@pytest.mark.full
def test_images_keep_to_the_bounds_of_stores(session: Session) -> None:
    first, second = (session.warm.script(f"import {name}\nprint(1)", f"with_{name}.py") for name in ("decimal", "csv"))
    refused = session.try_to_begin(first, MPIIMPORT_STORE_SIZE="6MiB")
    assert refused.status == 1 and "may be taken in" in refused.stderr, refused
    for script in (first, second):
        session.begin(script, MPIIMPORT_STORE_SIZE="18MiB")
    # The other had to make room.
    assert session.start_warm(second).stdout == "1\n"
    assert session.start_fresh(NONE, first).stdout == "1\n"


def begin_at_once(session: Session, script: str) -> list[tuple[int, str]]:
    """Begin three at once. Return the status of each, and what it says."""
    options: dict[str, Any] = {"env": session.environment(), "cwd": session.directory, "text": True}
    words = session.command(script)
    begun = [subprocess.Popen(words, stderr=subprocess.PIPE, **options) for _ in range(3)]
    said = [process.communicate(timeout=SECONDS)[1] for process in begun]
    return [(process.returncode, each) for process, each in zip(begun, said, strict=True)]


def test_sessions_that_begin_at_once_end_when_the_image_is_there(session: Session) -> None:
    script = session.warm.script("import json\nprint(1)")
    begun = begin_at_once(session, script)
    assert [status for status, _ in begun] == [0, 0, 0], begun
    assert any("a snapshot of" in said for _, said in begun), begun
    assert session.start_warm(script).stdout == "1\n"


def test_sessions_that_begin_at_once_all_hear_why_there_is_no_image(session: Session) -> None:
    session.warm.install()
    session.warm.module("plant", PLANT + LEFT)
    for status, said in begin_at_once(session, session.warm.script("import plant\nprint(1)")):
        assert status == 1 and "no warm image is kept: " in said and "a file was left open" in said


@as_root
def test_a_place_where_nothing_can_be_executed(session: Session) -> None:
    script = session.warm.script("import json\nprint(1)")
    mount = f'mount -t tmpfs -o noexec none {session.stores} && exec "$@"'
    begun = run(["unshare", "-m", "sh", "-c", mount, "sh", *session.command(script)], session.environment(), 60)
    assert begun.status == 1 and "noexec" in begun.stderr


@as_root
def test_a_place_that_is_read_only_is_said_and_stays_as_it_is(kept: Session) -> None:
    script, at = write(kept), kept.stores
    mount = f'mount --bind {at} {at} && mount -o remount,bind,ro {at} && exec "$@"'
    read_only = ("unshare", "-m", "sh", "-c", mount, "sh")
    assert kept.start_fresh("its lock cannot be written to", script, before=read_only).stdout == "none\n"
    for command in (kept.command(script), [*kept.command(script)[:2], "stop"]):
        outcome = run([*read_only, *command], kept.environment(), SECONDS, kept.directory)
        assert outcome.status == 1
        assert "Read-only file system: " in outcome.stderr and "Traceback" not in outcome.stderr
    assert kept.start_warm(script).stdout == "none\n"


@pytest.mark.parametrize(
    "variable", but_everyday(["JOB_ID=a.b-7", "SLURM_JOB_ID=7", "MPIIMPORT_SESSION=own"], {"JOB_ID=a.b-7"})
)
def test_the_door_finds_the_place_of_a_batch_job_or_session(session: Session, variable: str) -> None:
    script = session.warm.script("import json\nprint(1)")
    name, _, value = variable.partition("=")
    variables = {name: value}
    session.begin(script, **variables)
    assert session.start_warm(script, **variables).stdout == "1\n"
    another = session.start(script, **dict.fromkeys(variables, "another"))
    assert another.stdout == "1\n" and (NONE in another.stderr or variable.startswith("MPIIMPORT_SESSION")), another


@as_root
@pytest.mark.full
def test_a_directory_for_all_that_is_not_named(session: Session, tmp_path: Path) -> None:
    """Where there is no /dev/shm to write to, TMPDIR has the place."""
    script = session.warm.script("import json\nprint(1)")
    variables = {"MPIIMPORT_STORE": "", "TMPDIR": str(session.stores), "JOB_ID": tmp_path.name}
    hide = ("unshare", "-m", "sh", "-c", 'mount -t tmpfs -o ro none /dev/shm && exec "$@"', "sh")
    begun = run([*hide, *session.command(script)], session.environment(**variables), 60, session.directory)
    assert begun.status == 0, begun
    assert session.start_warm(script, before=hide, **variables).stdout == "1\n"


def test_the_first_task_of_a_session_has_the_image_made(session: Session) -> None:
    script = session.warm.script(f"import json, os\nprint({IS_WARM})")
    until = f"until ls {session.stores}/*/programs/warm-*/image >/dev/null 2>&1; do sleep 0.1; done"
    task = f"{session.door} {script}"
    command = [shutil.which("sh") or "sh", "-c", f"{task}; {until}; {task}"]
    tool = [str(Path(session.door).parent / "mpiimport"), "run", "--session", "--", *command]
    settle(session.warm.modules)
    outcome = run(tool, session.environment(MPIIMPORT_WARM="1"), 120, session.directory)
    assert outcome.stdout == "False\nTrue\n"
    (line,) = outcome.stderr.splitlines()
    assert line.startswith("mpiimport: tasks: from a snapshot, plain because no store is kept for this program")


def test_while_an_image_is_being_made_for_them_tasks_say_nothing(session: Session) -> None:
    script = session.warm.script(f"import json, os\nprint({IS_WARM})")
    settle(session.warm.modules)
    tasks = [session.start(script, MPIIMPORT_KEEP="auto") for _ in range(3)]
    assert {(task.status, task.stderr) for task in tasks} == {(0, "")}, tasks
    wait_for(session.images, SECONDS)
    assert session.start_warm(script, MPIIMPORT_KEEP="auto").stdout == "True\n"


def test_what_differs_from_the_nearest_image_is_named(session: Session) -> None:
    script = session.warm.script("import json\nprint(1)")
    session.begin(script)
    session.start_fresh('options of Python "", not "-u"', "-u", script)
    session.start_fresh(f'the program "{script}", not "-m json.tool"', "-m", "json.tool", "--help")


def test_without_a_locale(session: Session) -> None:
    """Python sets LC_CTYPE then (PEP 538), for its children, too."""
    script = session.warm.script("import json, os\nprint(os.environ.get('LC_CTYPE'), os.getenv('LANG'))")
    session.begin(script, LANG="", LC_ALL="")
    started = session.start_warm(script, LANG="", LC_ALL="")
    assert started == session.warm.plain(script, LANG="", LC_ALL="")
    assert started.stdout == "C.UTF-8 \n"
