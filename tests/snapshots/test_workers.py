"""Pythons that a program starts by itself: each goes on from its own snapshot, as the process that it is."""

import json
from pathlib import Path

import pytest

from lab.ranks import Outcome
from tests.texts import read

from .baked import PROGRAMS
from .prepared import Prepared

TEXTS = {name: text.text for name, text in read(PROGRAMS / "workers.txt").items()}
SAYS, LAUNCHER, OWN, SPAWNING = (TEXTS[name] for name in ("says", "launcher", "own", "spawning"))
WORKER = f"{SAYS}{TEXTS['worker']}"


@pytest.fixture
def prepared(prepared: Prepared) -> Prepared:
    prepared.baked.install()
    prepared.baked.module("plant", "VALUE = 'old'\n")
    return prepared


def switches(prepared: Prepared) -> dict[str, str]:
    """Those by which an unchanged python comes to us."""
    entry = Path(prepared.mpiimport).parents[1] / "lib" / "mpiimport" / "pythonpath"
    return {"PYTHONPATH": f"{entry}:{prepared.baked.modules}", "MPIIMPORT": "1"}


def started(prepared: Prepared, *program: str, **variables: str) -> Outcome:
    return prepared.run([prepared.baked.python, *program], **{**switches(prepared), **variables})


def workers_of(outcome: Outcome) -> list[tuple[bool, dict[str, object], int]]:
    """Whether each worker was restored, what it says of itself, and its status."""
    assert (outcome.status, outcome.stderr) == (0, ""), outcome
    return [(*json.loads(text), status) for text, status in eval(outcome.stdout)]


def test_each_worker_of_a_launcher_is_as_plainly(prepared: Prepared) -> None:
    launcher = prepared.baked.script(LAUNCHER, "torchrun")
    worker = prepared.baked.script(WORKER, "worker.py")
    made = prepared.try_to_prepare(prepared.baked.python, launcher, worker)
    (line,) = (line for line in made.lines() if " is prepared: " in line)
    assert made.status == 0 and line.startswith(f"script {worker} is prepared: "), made
    workers = workers_of(started(prepared, launcher, worker))
    plain = workers_of(prepared.run([prepared.baked.python, launcher, worker]))
    assert [restored for restored, *_ in workers] == [True] * 3
    for (_, said, status), (restored, said_plainly, status_plainly) in zip(workers, plain, strict=True):
        variables = dict(said["variables"], PYTHONPATH=str(prepared.baked.modules))  # type: ignore[call-overload]
        assert not restored
        assert ({**said, "variables": variables}, status) == (said_plainly, status_plainly)


def test_workers_of_a_launcher_that_is_a_rank_are_restored_and_are_no_ranks(prepared: Prepared) -> None:
    launcher = prepared.baked.script(LAUNCHER, "torchrun")
    worker, other = prepared.baked.script(WORKER, "worker.py"), prepared.baked.script(WORKER, "other.py")
    assert prepared.try_to_prepare(prepared.baked.python, launcher, worker).status == 0
    rank = {"PMI_RANK": "0", "PMI_SIZE": "4"}
    for program, is_prepared in ((worker, True), (other, False)):
        outcome = started(prepared, launcher, program, **rank)
        (line,) = outcome.ours()
        assert outcome.status == 0 and "running as plain Python: it uses no MPI; its workers " in line
        workers = [json.loads(text) for text, _ in eval(outcome.stdout)]
        assert [(restored, said["value"]) for restored, said in workers] == [(is_prepared, "old")] * 3


def test_a_worker_finds_its_snapshot_by_the_variable_that_was_set(prepared: Prepared) -> None:
    """A process that starts from one hands it on as it was, and shows no other variable of mpiimport."""
    text = f"{SAYS}\nrestored, seen = said()\nprint(restored, json.dumps(seen))\n"
    text += "if len(sys.argv) == 1: __import__('subprocess').run([sys.executable, __file__, 'again'], check=True)\n"
    script = prepared.baked.script(text)
    assert prepared.try_to_prepare(prepared.baked.python, script).status == 0
    both = started(prepared, script).stdout.splitlines()
    plain = started(prepared, script, MPIIMPORT="0").stdout.splitlines()
    assert [line.split()[0] for line in both] == ["True", "True"], both
    for line, plainly in zip(both, plain, strict=True):
        seen = json.loads(line.partition(" ")[2])
        assert seen["variables"].pop("PYTHONPATH") == switches(prepared)["PYTHONPATH"]
        expected = json.loads(plainly.partition(" ")[2])
        expected["variables"].pop("PYTHONPATH")
        assert seen == expected


def test_where_nothing_is_prepared_what_a_program_starts_has_nothing_of_ours(prepared: Prepared) -> None:
    script = prepared.baked.script("import os\nprint(os.environ['PYTHONPATH'])\n")
    assert started(prepared, script).stdout == f"{prepared.baked.modules}\n"


def test_programs_that_run_have_each_worker_prepared_beside(prepared: Prepared) -> None:
    """What can have no snapshot is named, with the reason, and runs."""
    worker = prepared.baked.script(f"{SAYS}\nprint('worker', *said()[:1])\n", "worker.py")
    idle = prepared.baked.script("print('idle')\n", "idle.py")
    text = f"""{SAYS}
import subprocess
print("program", *said()[:1], flush=True)
for words in ([{worker!r}], [{worker!r}], [{idle!r}], ["-c", "print('text')"]):
    subprocess.run([sys.executable, *words])
"""
    script = prepared.baked.script(text)
    made = prepared.run(prepared.command("--run", prepared.baked.python, script))
    assert made.status == 0, made
    assert made.stdout.splitlines()[:5] == ["program False", "worker False", "worker False", "idle", "text"]
    assert sorted(line.split()[1] for line in made.lines() if " is prepared: " in line) == [script, worker], made
    assert f"nothing is prepared of {idle}: " in made.stdout, made
    assert f"nothing is prepared of {prepared.baked.python} -c " in made.stderr, made
    again = started(prepared, script)
    assert again.stdout.splitlines() == ["program True", "worker True", "worker True", "idle", "text"], again


def test_a_worker_whose_snapshot_no_longer_fits_starts_plainly(prepared: Prepared) -> None:
    launcher = prepared.baked.script(LAUNCHER, "torchrun")
    worker = prepared.baked.script(WORKER, "worker.py")
    assert prepared.try_to_prepare(prepared.baked.python, launcher, worker).status == 0
    prepared.baked.module("plant", "VALUE = 'newer'\n")
    outcome = started(prepared, launcher, worker)
    # The launcher may read what they write.
    assert outcome.ours() == [], outcome
    workers = [json.loads(text) for text, _ in eval(outcome.stdout)]
    assert [(restored, said["value"]) for restored, said in workers] == [(False, "newer")] * 3
    asked = started(prepared, launcher, worker, MPIIMPORT_VERBOSE="1")
    assert sum(line.endswith("mpiimport prepare makes it anew") for line in asked.ours()) == 3, asked


def children_of(outcome: Outcome) -> tuple[list[bool], list[list[object]]]:
    """Whether each spawned process was restored, and what it says of itself."""
    assert (outcome.status, outcome.stderr) == (0, ""), outcome
    children = [json.loads(line) for line in outcome.stdout.splitlines()]
    return [restored for restored, _ in children], [said for _, said in children]


@pytest.fixture
def spawning(prepared: Prepared) -> str:
    """A program whose spawned processes were prepared."""
    prepared.baked.script(OWN, "own.py")
    prepared.baked.module("asks", TEXTS["asks"])
    script = prepared.baked.script(SPAWNING)
    made = prepared.run(prepared.command("--run", prepared.baked.python, script, "word"))
    assert made.status == 0 and f"script {script}, as multiprocessing spawns it, is prepared: " in made.stdout, made
    return script


def test_processes_that_multiprocessing_spawns_are_as_plainly(prepared: Prepared, spawning: str) -> None:
    restored, said = children_of(started(prepared, spawning, "word"))
    _, plainly = children_of(prepared.run([prepared.baked.python, spawning, "word"]))
    assert (restored, said) == ([True, True], plainly)


def test_a_spawned_process_that_imports_from_elsewhere_starts_plainly(prepared: Prepared, spawning: str) -> None:
    other = Path(spawning).with_name("other")
    other.mkdir()
    (other / "plant.py").write_text("VALUE = 'other'\n")
    restored, said = children_of(started(prepared, spawning, "--change"))
    _, plainly = children_of(prepared.run([prepared.baked.python, spawning, "--change"]))
    assert (restored, said) == ([False, False], plainly)
    assert said[0][1] == "other"


def test_a_spawned_process_whose_directory_hides_the_library_starts_plainly(prepared: Prepared, spawning: str) -> None:
    """It is the first of the search path until the parent has said otherwise."""
    (prepared.directory / "socket.py").write_text(TEXTS["hides"])
    restored, said = children_of(started(prepared, spawning))
    _, plainly = children_of(prepared.run([prepared.baked.python, spawning]))
    assert (restored, said) == ([False, False], plainly)
    assert said[0][4] is True


def test_a_spawned_process_executes_own_code_as_it_is_now(prepared: Prepared, spawning: str) -> None:
    Path(spawning).with_name("own.py").write_text(OWN.replace("'own'", "'newer'"))
    restored, said = children_of(started(prepared, spawning, "word"))
    assert (restored, [each[2] for each in said]) == ([True, True], ["newer"] * 2)
    Path(spawning).write_text(SPAWNING.replace("import plant\n", "import plant as planted\n", 1) + "plant = planted\n")
    outcome = started(prepared, spawning, "word")
    children = [json.loads(line) for line in outcome.stdout.splitlines()]
    assert [restored for restored, _ in children] == [False, False], outcome
    assert all("begins with other statements" in line for line in outcome.ours()), outcome
