"""What a program has at its cut it has behind it: objects half used, settings, hooks and seeds."""

import textwrap
from pathlib import Path

import pytest

from lab.ranks import run
from tests.texts import parameters, read

from .baked import PROGRAMS, Baked

# A script up to its main part, and its main part.
SCRIPTS = read(PROGRAMS / "state_at_the_cut.txt")


@pytest.mark.parametrize("name", parameters(SCRIPTS))
def test_a_program_goes_on_with_what_it_had(baked: Baked, name: str) -> None:
    main = textwrap.indent(SCRIPTS[name].further["main"], "    ")
    script = baked.script(f'{SCRIPTS[name]}if __name__ == "__main__":\n{main}')
    said = baked.bake(script)
    # What is to be done at the end is not done when the snapshot is made.
    assert 'if __name__ == "__main__":' in said and "bye" not in said
    plain, started = baked.plain(script), baked.start_restored(script)
    assert (started.stdout, started.stderr, started.status) == (plain.stdout, plain.stderr, plain.status)


SEEKS = """
import sys
if __name__ == "__main__":
    print([stream.seekable() for stream in (sys.stdin, sys.stdout, sys.stdout.buffer)], file=sys.stderr)
    print(sys.stdin.read(2), sys.stdout.seekable() and sys.stdout.tell())
"""


@pytest.mark.parametrize("redirection", ["</etc/passwd >out", "</etc/passwd | cat", ">out", "| cat"])
def test_streams_can_seek_where_plainly_they_can(baked: Baked, tmp_path: Path, redirection: str) -> None:
    script = baked.script(SEEKS)
    baked.bake(script)
    line = f'printf text | (exec "$@" {redirection}); cat out 2>/dev/null'
    command = ["sh", "-c", line, "sh"]
    plain = run([*command, baked.python, script], baked.environment(), 60, tmp_path)
    assert baked.start(script, before=tuple(command)) == plain


def test_a_link_that_leads_nowhere_is_there(baked: Baked, tmp_path: Path) -> None:
    name = tmp_path / "name"
    script = baked.script(
        f"import os\nfound = os.path.lexists({str(name)!r})\nif __name__ == '__main__': print(found)\n"
    )
    baked.bake(script)
    assert baked.start_restored(script).stdout == "False\n"
    name.symlink_to("nowhere")
    assert baked.start(script).stdout == "True\n"


def test_a_begin_that_reads_the_program_is_of_this_program_alone(baked: Baked) -> None:
    text = (
        "import os\nplace = os.path.realpath(__file__)\nsize = len(open(__file__).read())\nif __name__ == '__main__':\n"
    )
    script = baked.script(f"{text}    print(size, place)\n")
    baked.bake(script)
    assert baked.start_restored(script) == baked.plain(script)
    baked.script(f"{text}    print(size, place, 'edited')\n")
    assert baked.start_fresh("changed", script).stdout == baked.plain(script).stdout


SPAWNS = """
import numpy
rng, old, own = numpy.random.default_rng(), numpy.random.RandomState(), numpy.random.default_rng(5)
if __name__ == "__main__":
    sequence = rng.bit_generator.seed_seq
    again = numpy.random.Generator(numpy.random.PCG64(numpy.random.SeedSequence(sequence.entropy)))
    print(again.random() == rng.random(), own.random(), [each.n_children_spawned for each in sequence.spawn(2)])
    print([rng.spawn(1)[0].random(), old.rand(), numpy.random.rand()])
    print([kind._bit_generator.seed_seq is None for kind in (old, numpy.random.mtrand._rand)])
"""


def test_what_a_generator_spawns_is_of_each_process(baked: Baked) -> None:
    script = baked.script(SPAWNS)
    baked.bake(script)
    (first, drawn, last), *others = (baked.start_restored(script).stdout.splitlines() for _ in range(3))
    assert [first, last] == [baked.plain(script).stdout.splitlines()[number] for number in (0, 2)]
    numbers = [*drawn[1:-1].split(", "), *(each for _, one, _ in others for each in one[1:-1].split(", "))]
    assert len({*numbers}) == 9


def test_a_newline_that_a_begin_has_set_is_that_of_each_process(baked: Baked) -> None:
    script = baked.script("import sys, json\nx = 1\nsys.stdout.reconfigure(newline='\\r')\nprint('text')\n")
    assert "the newline of a stream, which it changes" in baked.bake(script)
    assert "t  \\r" in baked.start(script, before=("sh", "-c", '"$@" | od -c', "sh")).stdout


def test_mpi4py_that_waits_is_where_it_was(baked: Baked, tmp_path: Path) -> None:
    (tmp_path / "other" / "mpi4py").mkdir(parents=True)
    (tmp_path / "other" / "mpi4py" / "__init__.py").touch()
    text = f"from mpi4py import MPI\nimport sys\nsys.path.insert(0, {str(tmp_path / 'other')!r})\nx = 1\n"
    outcome = baked.try_to_bake(baked.script(text))
    assert outcome.status == 1 and "changes how mpi4py is imported, which waits" in outcome.stderr, outcome
