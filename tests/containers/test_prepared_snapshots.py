"""`mpiimport prepare -- apptainer exec ...`: from then on the ordinary command starts from the snapshot."""

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace

import pytest

from lab.ranks import Mpi, Outcome
from tests.conftest import ROOT, settle, wait_for, write_profile
from tests.containers.cells import Site
from tests.containers.prepared import SECONDS, TEXT, Prepared, prepared_of
from tests.containers.test_cached_stores_in_containers import PACKAGES, put_module

PER_NODE = "extends: mpich\ncontainer: {per_node: true}\n"
# A program with a small module in the place of numpy.
OF_PART = (
    TEXT.replace("import numpy,", "import json, part,")
    .replace("numpy.arange(4).sum()", "part.value")
    .replace("numpy.random.rand()", "random.random()")
)


def said(outcome: Outcome) -> list[str]:
    """Return the lines about snapshots."""
    return [line for line in outcome.ours() if "snapshot" in line]


@pytest.mark.parametrize(
    ("identity", "tree"),
    [
        ("user", "sif"),
        pytest.param("root", "sandbox", marks=pytest.mark.full),
        pytest.param("root", "sif", marks=pytest.mark.full),
        pytest.param("user", "sandbox", marks=pytest.mark.full),
    ],
)
def test_ranks_start_from_what_their_container_has_prepared(site: Site, mpich: Mpi, identity: str, tree: str) -> None:
    with prepared_of(site, mpich, identity, site.image(tree)[1]) as prepared:
        assert prepared.kinds(prepared.ranks(prepared.line())) == ["fresh", "fresh"]
        made = prepared.prepare_rank(prepared.line())
        assert made.status == 0 and made.ours() == [], made
        assert made.stdout.startswith("made image: ") and f"script {prepared.script} is prepared: " in made.stdout
        assert [image.stat().st_mode & 0o777 for image in prepared.images] == [0o600]
        started = prepared.ranks(prepared.line())
        assert (prepared.kinds(started), started.stderr) == (["restored", "restored"], "")
        unwanted = prepared.ranks(prepared.line(), MPIIMPORT_SNAPSHOT="0")
        assert (prepared.kinds(unwanted), said(unwanted)) == (["fresh", "fresh"], [])


@pytest.mark.full
def test_the_lines_for_a_container_do_what_the_page_says(prepared: Prepared) -> None:
    """Those of docs/start-faster.md, with two ranks in the place of 64. It is on one node, so they need not wait."""
    page = (ROOT / "docs" / "start-faster.md").read_text()
    own = {
        "mpiimport": [prepared.site.tool],
        "mpirun -n 64": prepared.mpi.command(2),
        "singularity": prepared.line()[:1],
        "img.sif": [str(prepared.image)],
        "python app.py": ["python3", str(prepared.script), "a"],
    }
    lines = [
        [word for name in re.split(rf"(?<!-)({'|'.join(own)}) ?", line) for word in own.get(name, name.split())]
        for line in re.findall("^ {4}(.*singularity.*)$", page, re.MULTILINE)
    ]
    settle(prepared.script)
    made, started = map(prepared.run, lines)
    assert made.status == 0 and made.stdout.startswith("made image: "), made
    assert (prepared.kinds(started), started.ours()) == (["restored", "restored"], [])


@pytest.fixture
def prepared(site: Site, mpich: Mpi) -> Iterator[Prepared]:
    with prepared_of(site, mpich, "user", site.image("sif")[1]) as made:
        yield made


@pytest.mark.full
def test_the_ranks_of_a_shared_container(prepared: Prepared) -> None:
    profile = write_profile(prepared.script.with_name("shared.yaml"), PER_NODE)
    line = prepared.line(flag=f"--mpiimport={profile}")
    assert prepared.prepare_rank(line).status == 0
    started = prepared.ranks(line)
    assert (prepared.kinds(started), started.ours()) == (["restored", "restored"], [])


@pytest.mark.full
def test_a_container_that_sees_nothing_of_the_host(prepared: Prepared) -> None:
    """It has another name of the library. A task needs no launcher."""
    place = prepared.script.with_name("apart")
    place.mkdir(mode=0o755)
    script = place / "task.py"
    script.write_text(TEXT)
    line = prepared.line("python3", str(script), "a", options=("--contain", "--bind", str(place)))
    settle(script)
    assert prepared.prepare(line).status == 0
    started = prepared.run(line)
    assert (prepared.kinds(started), started.ours()) == (["restored"], [])


@pytest.mark.full
def test_python_with_options(prepared: Prepared) -> None:
    """With -u it starts from a snapshot that was made so; with other options it starts as if there were none."""
    script = str(prepared.script)
    assert prepared.prepare_rank(prepared.line("python3", "-u", script, "a")).status == 0
    differs = 'the nearest one has options of Python "-u", not ""'
    for options, kind, line in (
        (("-u",), "restored", []),
        ((), "fresh", [differs]),
        (("-u", "-W", "error"), "fresh", []),
    ):
        started = prepared.ranks(prepared.line("python3", *options, script, "a"))
        assert prepared.kinds(started) == [kind] * 2, options
        assert [one for one, part in zip(said(started), line, strict=True) if part not in one] == [], started


@pytest.mark.full
def test_every_entry_point_finds_what_one_has_prepared(prepared: Prepared) -> None:
    options = ("--bind", "/tmp:/mnt", "-B", "/usr:/other,/etc:/others", "--no-home")
    by_shim = prepared.line(options=options)
    by_plugin = [prepared.site.apptainer("plugin"), *by_shim[1:]]
    run = [prepared.site.tool, "run", "--"]
    without_flag = [word for word in by_shim if word != "--mpiimport"]
    assert prepared.prepare_rank(by_shim).status == 0
    for line in (by_shim, by_plugin):
        assert prepared.kinds(prepared.ranks(line)) == ["restored", "restored"], line
    started = prepared.run([*run, *prepared.mpi.command(2), *without_flag])
    assert prepared.kinds(started) == ["restored", "restored"], started


@pytest.mark.full
def test_what_is_started_in_another_way_is_another_program(prepared: Prepared) -> None:
    assert prepared.prepare_rank(prepared.line()).status == 0
    copy = prepared.script.with_name("copy.py")
    copy.write_text("import array\n" + TEXT)
    sandbox = replace(prepared, image=prepared.site.image("sandbox")[1])
    for line, difference in (
        (prepared.line("python3", str(copy), "a"), []),
        (prepared.line(options=("--bind", "/tmp:/mnt")), ["another set of options and binds"]),
        (sandbox.line(), ["another image"]),
    ):
        outcome = prepared.ranks(line)
        assert prepared.kinds(outcome) == ["fresh", "fresh"]
        assert [one for one, part in zip(said(outcome), difference, strict=True) if part not in one] == [], outcome


@pytest.mark.full
def test_what_does_not_fit_starts_fresh_with_one_line(prepared: Prepared) -> None:
    assert prepared.prepare_rank(prepared.line()).status == 0
    prepared.script.write_text("import json\n" + TEXT)
    outcome = prepared.ranks(prepared.line())
    assert prepared.kinds(outcome) == ["fresh", "fresh"]
    assert ["begins with other statements" in one for one in said(outcome)] == [True], outcome
    prepared.script.write_text(TEXT)
    (image,) = prepared.images
    image.chmod(0o666)
    outcome = prepared.ranks(prepared.line())
    assert prepared.kinds(outcome) == ["fresh", "fresh"]
    assert ["others can write to it" in one for one in said(outcome)] == [True], outcome


@pytest.mark.full
def test_what_makes_no_snapshot_says_why(prepared: Prepared) -> None:
    plain = prepared.line()
    plain.remove("--mpiimport")
    for line, variables, why in (
        (["true"], {}, "made no snapshot"),
        (prepared.line("python3", "-c", TEXT), {}, "only a script has one"),
        (prepared.line(), {"MPIIMPORT": "0"}, "switches everything off"),
    ):
        outcome = prepared.prepare(line, **variables)
        assert outcome.status != 0 and why in outcome.stderr, outcome
        assert prepared.images == []


@pytest.mark.parametrize(
    ("identity", "tree"), [("root", "sandbox"), pytest.param("user", "sif", marks=pytest.mark.full)]
)
def test_tasks_start_from_what_one_has_prepared(site: Site, mpich: Mpi, identity: str, tree: str) -> None:
    """What belongs to one job alone does not matter: directories of the runtime, variables for the container."""
    with prepared_of(site, mpich, identity, site.image(tree)[1]) as prepared:
        assert prepared.prepare(prepared.line()).status == 0
        of_job = prepared.line(options=("--env", "MASTER_ADDR=node7"))
        started = [prepared.run(prepared.line()), prepared.run(of_job, APPTAINER_CACHEDIR="/tmp/job7")]
        plain = prepared.run(prepared.line(), MPIIMPORT="0")
        assert [(outcome.status, outcome.stderr) for outcome in started] == [(plain.status, plain.stderr)] * 2
        assert [prepared.kinds(outcome) for outcome in (*started, plain)] == [["restored"], ["restored"], ["fresh"]]
        other = prepared.run(prepared.line(options=("--env", "PYTHONPATH=/usr/share")))
        assert prepared.kinds(other) == ["fresh"] and "another value of the variable PYTHONPATH" in other.stderr


@pytest.mark.full
@pytest.mark.parametrize("option", ["--pid", "--cleanenv"])
def test_options_of_the_runtime(prepared: Prepared, option: str) -> None:
    """There the entry stands in front of the command."""
    line = prepared.line(options=(option,))
    assert prepared.prepare(line).status == 0
    started = prepared.run(line)
    assert (prepared.kinds(started), started.stderr) == (["restored"], "")


@pytest.mark.full
def test_a_module_in_a_container(prepared: Prepared) -> None:
    module = prepared.script.with_name("work.py")
    module.write_text(TEXT + "print(__spec__.name, sys.orig_argv)")
    settle(module)
    line = prepared.line("python3", "-m", "work", "a")
    assert "module work is prepared" in prepared.prepare(line).stdout
    started, plain = prepared.run(line), prepared.run(line, MPIIMPORT="0")
    assert started.stdout.split()[:3] == ["restored", "6", "['a']"], started
    assert (started.lines()[-1], started.stderr) == (plain.lines()[-1], "")


@pytest.fixture
def own(site: Site, mpich: Mpi) -> Iterator[Prepared]:
    """A program in a small sandbox, which a test may change. The one module that it imports there is ``part``."""
    image = site.workspace("root") / "image"
    subprocess.run(["cp", "-a", "--reflink=auto", site.images / "base", image], check=True)
    put_module(image, "old")
    with prepared_of(site, mpich, "root", image, OF_PART) as made:
        yield made


@pytest.mark.full
def test_what_has_changed_in_a_sandbox(own: Prepared) -> None:
    """Each task looks at the tree, which each container mounts anew."""
    assert own.prepare(own.line()).status == 0
    assert own.run(own.line()).stdout.split()[:2] == ["restored", "old"]
    module = own.image / PACKAGES / "part.py"
    before = module.stat()
    module.write_text("value = 'new'\n")
    os.utime(module, ns=(before.st_atime_ns, before.st_mtime_ns))
    outcome = own.run(own.line())
    assert outcome.stdout.split()[:2] == ["fresh", "new"], outcome
    (line,) = outcome.ours()
    assert f"this has changed since, or cannot be opened: /{PACKAGES}/part.py" in line


@pytest.mark.full
def test_what_is_mounted_over_the_tree_is_not_taken_for_it(own: Prepared) -> None:
    assert own.prepare(own.line()).status == 0
    other = own.script.with_name("other")
    other.mkdir()
    (other / "part.py").write_text("value = 'other'\n")
    settle(other / "part.py")
    bound = own.line(options=("--bind", f"{other / 'part.py'}:/{PACKAGES}/part.py"))
    assert own.run(bound).stdout.split()[:2] == ["fresh", "other"]
    assert own.prepare(bound).status == 0
    assert own.run(bound).stdout.split()[:2] == ["restored", "other"]
    (other / "part.py").write_text("value = 'third'\n")
    assert own.run(bound).stdout.split()[:2] == ["fresh", "third"]
    assert own.run(own.line()).stdout.split()[:2] == ["restored", "old"]


@pytest.mark.parametrize(
    ("identity", "tree"), [("root", "sandbox"), pytest.param("user", "sandbox", marks=pytest.mark.full)]
)
def test_a_task_has_it_made_for_the_next(site: Site, mpich: Mpi, identity: str, tree: str) -> None:
    """No library is there before. A sandbox stays when the task has ended."""
    with prepared_of(site, mpich, identity, site.image(tree)[1]) as prepared:
        settle(prepared.script)
        first = prepared.run(prepared.line(), MPIIMPORT_PREPARE="auto")
        assert (prepared.kinds(first), first.stderr) == (["fresh"], "")
        # It takes only what nothing else wants of the processors.
        wait_for(lambda: prepared.images, 3 * SECONDS)
        second = prepared.run(prepared.line(), MPIIMPORT_PREPARE="auto")
        assert (prepared.kinds(second), second.stderr) == (["restored"], "")


# Runs until the library has a snapshot.
PATIENT = (
    TEXT
    + """
import glob, time
while not glob.glob(os.environ["MPIIMPORT_SNAPSHOTS"] + "/*/*/image"):
    time.sleep(0.1)
"""
)


@pytest.mark.full
def test_in_an_image_file_it_is_made_while_the_task_runs(site: Site, mpich: Mpi) -> None:
    with prepared_of(site, mpich, "user", site.image("sif")[1], PATIENT) as prepared:
        settle(prepared.script)
        first = prepared.run(prepared.line(), MPIIMPORT_PREPARE="auto")
        assert (prepared.kinds(first), first.stderr) == (["fresh"], "")
        second = prepared.run(prepared.line(), MPIIMPORT_PREPARE="auto")
        assert (prepared.kinds(second), second.stderr) == (["restored"], "")


def test_in_an_image_file_nothing_that_makes_it_outlives_the_task(site: Site, mpich: Mpi) -> None:
    """Apptainer unmounts the image when the task ends, waits a second for what still uses it, and says so."""
    with prepared_of(site, mpich, "user", site.image("sif")[1]) as prepared:
        settle(prepared.script)
        ended = prepared.run(prepared.line(), MPIIMPORT_PREPARE="auto")
        assert (prepared.kinds(ended), ended.stderr) == (["fresh"], "")
        assert [*prepared.library.glob("tried/program-*")] and not prepared.images
