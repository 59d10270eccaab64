"""`mpiimport prepare -- COMMAND`: the python that the job's own command starts makes the snapshot for all its jobs."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lab.ranks import Mpi
from mpiimport.snapshot.image.describing import MEGABYTE
from tests.conftest import settle, wait_for

from .baked import NOT_USED, SECONDS
from .prepared import Prepared

TEXT = """
import json, plant, random
import os, sys
restored = os.readlink("/proc/self/exe").endswith("mpiimport-restore")
print("restored" if restored else "fresh", plant.VALUE, sys.argv[1:], random.random())
"""


def kind(prepared: Prepared, *command: str, **environment: str) -> str:
    """How a process has started: restored or fresh."""
    started = prepared.run([*command], **environment)
    assert started.status == 0, started
    return started.stdout.split()[0]


@pytest.fixture
def prepared(prepared: Prepared) -> Prepared:
    prepared.baked.install()
    prepared.baked.module("plant", "VALUE = 'old'\n")
    return prepared


def test_ranks_start_from_what_one_of_them_has_made(prepared: Prepared, mpich: Mpi) -> None:
    program = (prepared.entry_point, prepared.baked.script(TEXT), "a")
    made = prepared.try_to_prepare(*mpich.command(2), *program)
    assert made.status == 0 and made.ours() == [] and made.stdout.startswith("made image: "), made
    (image,) = prepared.images
    status = image.stat()
    assert (
        f" {status.st_size / MEGABYTE:.1f} MB" in made.stdout
        and " files; its imports take little time\n" in made.stdout
    )
    assert status.st_mode & 0o777 == 0o600
    started = prepared.run([*mpich.command(2), *program])
    lines = [line.split() for line in started.lines()]
    assert (started.stderr, [line[:3] for line in lines]) == ("", [["restored", "old", "['a']"]] * 2), started
    assert lines[0][3] != lines[1][3]


@contextmanager
def preparing(prepared: Prepared, places: Path) -> "Iterator[subprocess.Popen[str]]":
    """The command while a module that takes long is imported; it leads a group of its own. ``places``: its TMPDIR."""
    begun = places.with_name("begun")
    places.mkdir()
    prepared.baked.module("slow", f"import time\nopen({str(begun)!r}, 'w').close()\ntime.sleep(60)\n")
    command = [prepared.mpiimport, "prepare", "--", prepared.entry_point, prepared.baked.script("import slow")]
    variables = prepared.environment(TMPDIR=str(places))
    with subprocess.Popen(command, env=variables, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            wait_for(begun.exists)
            yield process
        finally:
            process.kill()


def left(prepared: Prepared, places: Path) -> list[Path]:
    return [*places.iterdir(), *prepared.library.glob("*/*/*"), *prepared.library.glob("*/since")]


def test_an_interrupt_that_comes_to_the_command_alone(prepared: Prepared, tmp_path: Path) -> None:
    """Whatever it has begun ends, and takes away what it has written."""
    with preparing(prepared, tmp_path / "places") as process:
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=SECONDS)
    assert (process.returncode, said, left(prepared, tmp_path / "places")) == (130, "", [])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_batch_system_ends_all_of_it(prepared: Prepared, tmp_path: Path, number: signal.Signals) -> None:
    with preparing(prepared, tmp_path / "places") as process:
        os.killpg(process.pid, number)
        process.communicate(timeout=SECONDS)
    wait_for(lambda: not left(prepared, tmp_path / "places"))


def test_what_does_not_fit_starts_fresh_with_one_line_for_the_job(prepared: Prepared, mpich: Mpi) -> None:
    program = (*mpich.command(2), prepared.entry_point, prepared.baked.script(TEXT), "a")
    # One rank would see what the other has compiled meanwhile.
    no_bytecode = {"PYTHONDONTWRITEBYTECODE": "1"}
    assert prepared.try_to_prepare(*program, **no_bytecode).status == 0
    prepared.baked.module("plant", "VALUE = 'newer'\n")
    outcome = prepared.run([*program], **no_bytecode)
    assert [line.split()[:2] for line in outcome.lines()] == [["fresh", "newer"]] * 2, outcome
    (line,) = (line for line in outcome.ours() if "snapshot" in line)
    assert line.startswith(NOT_USED) and "plant.py" in line and line.endswith("mpiimport prepare makes it anew"), line


READS = """
import json, random
import subprocess, sys
print(subprocess.check_output([sys.executable, "worker.py"], text=True, stderr=subprocess.STDOUT), end="")
"""


def test_a_worker_says_nothing_where_its_program_may_read_it(prepared: Prepared) -> None:
    program = (prepared.baked.python, prepared.baked.script(READS))
    (prepared.directory / "worker.py").write_text("import csv, plant\nprint(plant.VALUE)")
    made = prepared.run(prepared.command("--run", *program))
    assert made.status == 0 and len(prepared.images) == 2, made
    prepared.baked.module("plant", "VALUE = 'newer'\n")
    started = prepared.run([prepared.mpiimport, "run", "--", *program])
    assert (started.status, started.stdout) == (0, "newer\n"), started
    asked = prepared.run([prepared.mpiimport, "run", "--", *program], MPIIMPORT_VERBOSE="1")
    assert "snapshot is not used: " in asked.stdout and "plant.py" in asked.stdout, asked


def test_ranks_of_a_prepared_program_that_are_started_otherwise_are_plain(prepared: Prepared, mpich: Mpi) -> None:
    """Others start from the snapshot, and would not take part in a service."""
    text = "import csv, random\nfrom mpi4py import MPI\nprint(MPI.COMM_WORLD.allreduce(1))"
    program = [prepared.entry_point, prepared.baked.script(text)]
    library = {"MPI4PY_LIBMPI": str(mpich.library)}
    assert prepared.try_to_prepare(*mpich.command(2), *program, **library).status == 0
    first_otherwise = 'if [ "$PMI_RANK" = 0 ]; then export PATH="/opt:$PATH"; fi; exec "$@"'
    command = [*mpich.command(2), "bash", "-c", first_otherwise, "bash", *program]
    started = prepared.run(command, MPIIMPORT="force", MPIIMPORT_DEADLINE="40", **library)
    assert (started.status, started.lines()) == (0, ["2", "2"]), started
    assert "none is prepared for this program, as it is started now" in started.stderr


def test_another_program_is_not_started_from_it(prepared: Prepared) -> None:
    script = prepared.baked.script(TEXT)
    assert prepared.try_to_prepare(prepared.entry_point, "-u", script).status == 0
    assert kind(prepared, prepared.entry_point, "-u", script, "b") == "restored"
    other = prepared.baked.script(f"import array\n{TEXT}", "other.py")
    directory = f"{Path(prepared.baked.python).parent}:/usr/bin:/bin"
    for words, variables in (
        ((prepared.entry_point, script), {}),
        ((prepared.entry_point, "-u", other), {}),
        ((prepared.entry_point, "-u", script), {"PATH": directory}),
        ((prepared.entry_point, "-u", script), {"MPIIMPORT_SNAPSHOT": "0"}),
        ((prepared.entry_point, "-u", script), {"MPIIMPORT": "0"}),
        ((prepared.baked.python, "-u", script), {}),
    ):
        started = prepared.run([*words], **variables)
        assert (started.stdout.split()[0], started.ours()) == ("fresh", []), (words, variables, started)


def test_an_unchanged_python_behind_run_starts_from_it(prepared: Prepared, mpich: Mpi) -> None:
    script = prepared.baked.script(TEXT + "assert '_MPIIMPORT_JOB' not in os.environ\n")
    program = (prepared.baked.python, script, "a")
    assert prepared.try_to_prepare(*mpich.command(1), *program).status == 0
    started = prepared.run([prepared.mpiimport, "run", "--", *mpich.command(2), *program])
    assert [line.split()[0] for line in started.lines()] == ["restored"] * 2, started
    unwanted = prepared.run([prepared.mpiimport, "run", "--", *mpich.command(2), *program], MPIIMPORT_SNAPSHOT="0")
    assert [line.split()[0] for line in unwanted.lines()] == ["fresh"] * 2, unwanted


@pytest.mark.parametrize("name", ["worker", "/no/where/python", "-bash", "ls", "python"])
def test_a_python_that_is_started_by_any_name_runs_its_program(prepared: Prepared, prefix: Path, name: str) -> None:
    """execve(2) lets the caller choose the name. Only one that leads to this Python leads python-mpi there."""
    script = prepared.baked.script(TEXT)
    by_variable = {"PYTHONPATH": f"{prefix}/lib/mpiimport/pythonpath:{prepared.baked.modules}", "MPIIMPORT": "1"}
    words = ["bash", "-c", 'exec -a "$0" "$@"', name, prepared.baked.python, script, "a"]
    assert prepared.try_to_prepare(prepared.entry_point, script).status == 0
    plain, started = prepared.run(words), prepared.run(words, **by_variable)
    # This Python finds its library by its name, too: by some it does not even start.
    assert (plain.status == 0) == (plain.stdout.split()[1:3] == ["old", "['a']"])
    assert (started.status, started.stdout.split()[1:3]) == (plain.status, plain.stdout.split()[1:3]), started
    assert started.ours() == []


@pytest.mark.parametrize("is_prepared_so", [True, False], ids=["prepared so", "prepared by another name"])
def test_name_and_locale_of_an_unchanged_python_stay(prepared: Prepared, prefix: Path, is_prepared_so: bool) -> None:
    shown = "print(sys.executable, sys.flags.utf8_mode, os.environ.get('LC_CTYPE'))\n"
    script = prepared.baked.script(TEXT + shown)
    path = {"PATH": f"{Path(prepared.baked.python).parent}:/usr/bin:/bin"}
    by_variable = {"PYTHONPATH": f"{prefix}/lib/mpiimport/pythonpath:{prepared.baked.modules}", "MPIIMPORT": "1"}
    words = ["env", "-u", "LANG", "-u", "LC_ALL", "-u", "LC_CTYPE", "python3", script]
    made_for = words if is_prepared_so else [prepared.entry_point, script]
    assert prepared.try_to_prepare(*made_for, **path, **by_variable).status == 0
    plain, started = prepared.run(words, **path), prepared.run(words, **path, **by_variable)
    (how, said), (_, said_plainly) = (outcome.stdout.splitlines() for outcome in (started, plain))
    assert how.split()[0] == ("restored" if is_prepared_so else "fresh"), started
    assert said == said_plainly


def test_what_run_puts_on_path_is_no_other_path(prepared: Prepared, prefix: Path) -> None:
    script = prepared.baked.script("import os, shutil\nFOUND = shutil.which('true')\n" + TEXT)
    run, program = [prepared.mpiimport, "run", "--"], [prepared.baked.python, script]
    by_variable = {"PYTHONPATH": f"{prefix}/lib/mpiimport/pythonpath:{prepared.baked.modules}", "MPIIMPORT": "1"}
    for before in ([], run):
        assert prepared.try_to_prepare(*before, *program).status == 0
        assert kind(prepared, *run, *program) == kind(prepared, *program, **by_variable) == "restored"
        prepared.snapshot("remove", "--all")
    assert prepared.try_to_prepare(*program).status == 0
    assert kind(prepared, *run, *program, PATH=os.environ["PATH"]) == "fresh"


def test_an_unbuffered_program_is_as_plainly(prepared: Prepared) -> None:
    shown = "print(sys.orig_argv[1:], hasattr(sys.stdout.buffer, 'raw'), sys.stdout.write_through)\n"
    script = prepared.baked.script(TEXT + shown)
    for words in (("-u",), ()):
        assert prepared.try_to_prepare(prepared.entry_point, *words, script, "a").status == 0
        started = prepared.run([prepared.entry_point, *words, script, "a"])
        plain = prepared.run([prepared.baked.python, *words, script, "a"])
        assert started.stdout.split()[0] == "restored", started
        assert started.stdout.splitlines()[1] == plain.stdout.splitlines()[1], started


def test_each_kind_of_machine_has_its_own(prepared: Prepared) -> None:
    """A limit of the stack stands for a processor: a snapshot is for one."""
    script = prepared.baked.script(TEXT)
    for limit in (4096, 8192):
        limited = ("sh", "-c", f'ulimit -s {limit} && exec "$@"', "sh", prepared.entry_point, script)
        before = prepared.run([*limited])
        assert before.stdout.split()[0] == "fresh"
        assert ["limit of the stack" in line for line in before.ours()] == [True] * (limit == 8192), before
        assert prepared.try_to_prepare(*limited).status == 0
    assert len(prepared.images) == 2
    for limit in (4096, 8192):
        limited = ("sh", "-c", f'ulimit -s {limit} && exec "$@"', "sh", prepared.entry_point, script)
        started = prepared.run([*limited])
        assert (started.stdout.split()[0], started.stderr) == ("restored", ""), started
    listed = prepared.run([prepared.mpiimport, "snapshot", "list"])
    assert "2 kinds of machines" in listed.stdout, listed


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make the view of another node")
def test_other_nodes_start_from_it(prepared: Prepared, tmp_path: Path) -> None:
    """They have another name, and settings in files of their own, with the same bytes."""
    script = prepared.baked.script(f"import time\ntime.localtime()\n{TEXT}")
    assert prepared.try_to_prepare(prepared.entry_point, script).status == 0
    of_node = tmp_path / "localtime"
    view = f'hostname other && mount --bind {of_node} "$(readlink -f /etc/localtime)" && exec "$@"'
    node = ("unshare", "-m", "-u", "sh", "-c", view, "sh", prepared.entry_point, script)
    of_node.write_bytes(Path("/etc/localtime").read_bytes())
    started = prepared.run([*node])
    assert (started.stdout.split()[0], started.stderr) == ("restored", ""), started
    of_node.write_bytes(Path("/usr/share/zoneinfo/Asia/Tokyo").read_bytes())
    other = prepared.run([*node])
    assert other.stdout.split()[0] == "fresh" and "cannot be opened: /etc/localtime; " in other.stderr, other


def test_what_is_prepared_can_be_looked_at_and_removed(prepared: Prepared) -> None:
    script = prepared.baked.script(TEXT)
    none = prepared.run([prepared.mpiimport, "snapshot", "list"])
    assert none.status == 1 and "nothing is prepared" in none.stdout
    assert prepared.try_to_prepare(prepared.entry_point, script).status == 0
    shown = prepared.run([prepared.mpiimport, "snapshot", "show", "app.py"])
    assert shown.status == 0 and "it ends before line " in shown.stdout, shown
    assert prepared.run([prepared.mpiimport, "snapshot", "check"]).status == 0
    (image,) = prepared.images
    with image.open("r+b") as stream:
        stream.seek(-1, os.SEEK_END)
        (last,) = stream.read(1)
        stream.seek(-1, os.SEEK_END)
        stream.write(bytes([last ^ 1]))
    damaged = prepared.run([prepared.mpiimport, "snapshot", "check", "app.py"])
    assert damaged.status == 1 and f"{image} is damaged" in damaged.stderr, damaged
    refused = prepared.run([prepared.entry_point, script])
    assert refused.stdout.split()[0] == "fresh" and "somebody has written to it" in refused.stderr, refused
    removed = prepared.run([prepared.mpiimport, "snapshot", "remove", "app.py"])
    assert removed.status == 0 and prepared.images == []
    started = prepared.run([prepared.entry_point, script])
    assert (started.stdout.split()[0], started.ours()) == ("fresh", []), started
    assert prepared.try_to_prepare(prepared.entry_point, script).status == 0
    assert kind(prepared, prepared.entry_point, script) == "restored"
    # A program of this name in a different directory.
    shutil.copytree(prepared.images[0].parents[1], prepared.library / "program-other")
    (prepared.library / "program-other" / "program").write_text("python /elsewhere/app.py")
    unclear = prepared.run([prepared.mpiimport, "snapshot", "remove", "app.py"])
    assert unclear.status == 1 and "several programs are called app.py" in unclear.stderr, unclear
    assert prepared.run([prepared.mpiimport, "snapshot", "remove", script]).status == 0
    assert [image.parents[1].name for image in prepared.images] == ["program-other"]


def test_a_library_that_others_can_write_to_is_not_believed(prepared: Prepared) -> None:
    script = prepared.baked.script(TEXT)
    assert prepared.try_to_prepare(prepared.entry_point, script).status == 0
    prepared.library.chmod(0o777)
    started = prepared.run([prepared.entry_point, script], MPIIMPORT_VERBOSE="1")
    assert started.stdout.split()[0] == "fresh" and "others may write to" in started.stderr, started
    refused = prepared.try_to_prepare(prepared.entry_point, script)
    assert refused.status == 1 and "chmod 700" in refused.stderr, refused


def test_two_preparations_at_once(prepared: Prepared) -> None:
    script = prepared.baked.script(TEXT)
    settle(*prepared.baked.modules.iterdir())
    line = f"for n in 1 2; do {prepared.mpiimport} prepare -- {prepared.entry_point} {script} & done; wait"
    assert prepared.run(["sh", "-c", line]).ours() == []
    assert len(prepared.images) == 1 and kind(prepared, prepared.entry_point, script) == "restored"


def test_a_command_that_makes_none_says_so(prepared: Prepared) -> None:
    for command, why in (
        (["true"], "true ended, and made no snapshot"),
        (["false"], ""),
        ([prepared.entry_point, "-c", "pass"], "nothing is prepared: only a script has one"),
        (["./none"], "./none cannot be started"),
    ):
        outcome = prepared.try_to_prepare(*command)
        assert outcome.status != 0 and why in outcome.stderr, outcome
        assert [*prepared.library.iterdir()] == []


def test_where_there_is_no_room_that_is_said(prepared: Prepared) -> None:
    limited = ["bash", "-c", 'ulimit -f 2000; exec "$@"', "bash"]
    outcome = prepared.try_to_prepare(*limited, prepared.entry_point, prepared.baked.script(TEXT))
    assert outcome.status == 1 and "cannot be written: File too large" in outcome.stderr, outcome
    assert [*prepared.library.iterdir()] == []


def test_own_code_that_can_be_in_no_image_leaves_its_imports_in_one(prepared: Prepared) -> None:
    """The first statement imports it, so nothing of the program itself has been executed."""
    (prepared.baked.modules / "modules-1.dist-info").rmdir()
    prepared.baked.module("plant", "import decimal\nimport os\nVALUE = os.urandom(4).hex()\n")
    script = prepared.baked.script("import plant, os\nprint(os.readlink('/proc/self/exe')[-17:], plant.VALUE)\n")
    made = prepared.try_to_prepare(prepared.entry_point, script)
    assert made.status == 0 and "it ends before line 1, `import plant, os`: it is own code" in made.stdout, made
    started = [prepared.run([prepared.entry_point, script]) for _ in range(2)]
    assert [(one.stderr, one.stdout.split()[0]) for one in started] == [("", "mpiimport-restore")] * 2
    assert started[0].stdout != started[1].stdout


def test_own_code_changes_nothing_before_a_job_does(prepared: Prepared) -> None:
    (prepared.baked.modules / "modules-1.dist-info").rmdir()
    made = prepared.baked.modules / "made"
    prepared.baked.module("plant", f"import os\nos.mkdir({str(made)!r})\n")
    script = prepared.baked.script("import json\nimport plant\nprint('done')\n")
    baked = prepared.try_to_prepare(prepared.entry_point, script)
    assert baked.status == 0 and "it ends before line 2, `import plant`: " in baked.stdout and not made.exists(), baked
    started = prepared.run([prepared.entry_point, script])
    assert (started.stdout, started.stderr, made.exists()) == ("done\n", "", True)
