"""Whatever file is given as the program, Python runs that file, by that name, or refuses it with its own words."""

import py_compile
from collections import Counter
from pathlib import Path

import pytest

from lab.ranks import Mpi
from tests.conftest import Job, interpreter

SHOW = (
    "import sys, traceback\nprint('asked for', __file__, sys.argv, sys.path[0], traceback.extract_stack()[-1].filename)"
)
# By the path that is given; made below the current directory, which is w/project.
PLACES = {
    "./app.py": "w/project/app.py",
    ".//app.py": "w/project/app.py",
    "../project/app.py": "w/project/app.py",
    "link/../app.py": "w/real/app.py",
    "link/app.py": "w/real/bin/app.py",
}
UNUSUAL = {
    "latin-1 in a comment": b"print(1) # caf\xe9\n",
    "latin-1 in a string": b"print(1)\nprint('caf\xe9')\n",
    "latin-1 that is declared": b"# -*- coding: latin-1 -*-\nprint(ascii('caf\xe9'))\n",
    "declared in the second line": b"#!/usr/bin/python\n# vim: set fileencoding=iso-8859-15 :\nprint(ascii('\xa4'))\n",
    "declared in code": b"x = 'coding: latin-1'\nprint(ascii('caf\xe9'))\n",
    "declared too late": b"#\n#\n# coding: latin-1\nprint(ascii('caf\xe9'))\n",
    "no such encoding": b"# coding: nosuch\nprint(1)\n",
    "utf-16": b"# coding: utf-16\nprint(1)\n",
    "a mark of UTF-8": b"\xef\xbb\xbfprint('marked')\n",
    "a mark and another encoding": b"\xef\xbb\xbf# coding: latin-1\nprint('marked')\n",
    "a null byte": b"print(1)\n\0print(2)\n",
    "other ends of lines": b"print(1)\r\nprint('''a\r\nb''')\r\n",
    "a syntax error": b"print(1\n",
    "nothing": b"",
}


def compare(job: Job, mpi: Mpi, entry_point: str, *words: str | Path) -> None:
    plain, served = (job.run(mpi, 2, *words, entry_point=each) for each in ("plain", entry_point))
    assert (served.status, served.lines()) == (plain.status, plain.lines()), served.stderr
    # Ranks share the stream, into which the interpreter writes parts of lines.
    assert Counter(served.stderr.split()) == Counter(plain.stderr.split())


@pytest.mark.parametrize("path", PLACES)
def test_the_script_is_the_one_that_is_asked_for(job: Job, mpich: Mpi, entry_point: str, path: str) -> None:
    for place in set(PLACES.values()):
        job.script(SHOW.replace("asked for", place), place)
    (job.directory / "w" / "project" / "link").symlink_to("../real/bin")
    compare(Job(job.prefix, job.directory / "w" / "project"), mpich, entry_point, path)


@pytest.mark.parametrize("text", UNUSUAL)
@pytest.mark.parametrize("entry_point", ["early", "module"])
def test_text_is_decoded_as_the_interpreter_decodes_it(job: Job, mpich: Mpi, entry_point: str, text: str) -> None:
    script = job.directory / "app.py"
    script.write_bytes(UNUSUAL[text])
    compare(job, mpich, entry_point, script)


@pytest.mark.parametrize("name", ["app.pyc", "app.odd", "damaged.pyc", "text.pyc"])
def test_bytecode_can_be_the_program(job: Job, mpich: Mpi, entry_point: str, name: str) -> None:
    source = job.script("import sys\nprint(__file__, type(__loader__).__name__, __cached__)")
    py_compile.compile(str(source), str(job.directory / name))
    if name == "damaged.pyc":
        (job.directory / name).write_bytes((job.directory / name).read_bytes()[:40])
    elif name == "text.pyc":
        (job.directory / name).write_text("print(1)")
    compare(job, mpich, entry_point, name)


def test_every_rank_is_warned_of_the_program_once(job: Job, mpich: Mpi, entry_point: str) -> None:
    other = Job(job.prefix, job.directory, interpreter("3.12"))
    script = other.script("import os\nos.environ['UCX_X'] = '1'\nprint(1 is 1, '\\d')")
    outcomes = [
        other.run(mpich, 2, script, entry_point=each, MPIIMPORT_INIT="world") for each in ("plain", entry_point)
    ]
    plain, served = ([line for line in outcome.stderr.splitlines() if "Warning" in line] for outcome in outcomes)
    assert len(plain) == 4
    assert sorted(served) == sorted(plain)
