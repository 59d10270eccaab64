"""Every kind of program runs through every entry point as it runs plainly."""

import json
import zipfile

import pytest

from lab.ranks import Mpi, run
from tests.conftest import Job

BODY = """
import json, os, sys
main = sys.modules["__main__"]
print(json.dumps({
    "argv": sys.argv, "path0": sys.path[:2], "name": __name__, "file": globals().get("__file__"),
    "package": __package__, "spec": repr(__spec__ and (__spec__.name, __spec__.origin)),
    "doc": main.__doc__, "names": [name for name in vars(main) if name not in ("json", "os", "sys", "main")],
    "loader": type(main.__loader__).__name__, "cached": globals().get("__cached__"),
}))
"""
ENTRY_POINTS = ["early", "module", "sitecustomize"]


@pytest.mark.parametrize("entry_point", ENTRY_POINTS)
@pytest.mark.parametrize(
    "kind", ["script", "relative script", "link", "module", "package", "code", "directory", "archive"]
)
def test_a_program_sees_itself_as_without_us(job: Job, mpich: Mpi, kind: str, entry_point: str) -> None:
    words = program(job, kind)
    plain, served = (
        job.run(mpich, 2, *words, "an argument", "-v", entry_point=start) for start in ("plain", entry_point)
    )
    assert plain.status == served.status == 0, served.stderr
    (expected, _), (seen, again) = ([json.loads(line) for line in outcome.lines()] for outcome in (plain, served))
    package = job.switches(entry_point).get("PYTHONPATH")
    for found in (seen, again):
        if entry_point == "module":
            found["path0"] = expected["path0"] if package in found["path0"] else found["path0"]
        # The ordinary loader's subclass stands for it.
        found["loader"] = found["loader"].replace("StoreSourceLoader", "SourceFileLoader")
        assert found == expected


def program(job: Job, kind: str) -> list[str]:
    if kind == "code":
        return ["-c", BODY]
    if kind == "module":
        job.script(BODY, "mod.py")
        return ["-m", "mod"]
    if kind == "package":
        job.script("", "pack/__init__.py")
        job.script(BODY, "pack/__main__.py")
        return ["-m", "pack"]
    if kind == "directory":
        return [str(job.script(BODY, "folder/__main__.py").parent)]
    if kind == "archive":
        archive = job.directory / "program.anything"
        with zipfile.ZipFile(archive, "w") as stream:
            stream.writestr("__main__.py", BODY)
        return [str(archive)]
    script = job.script(BODY, "sub/app.py")
    if kind == "relative script":
        return ["sub/app.py"]
    if kind == "link":
        link = job.directory / "link.py"
        link.symlink_to(script)
        return [str(link)]
    return [str(script)]


@pytest.mark.parametrize("entry_point", ["early", "module"])
def test_standard_input_is_a_program_too(job: Job, mpich: Mpi, entry_point: str) -> None:
    program = job.script("import numpy; print(__name__, numpy.__name__, type(numpy.__loader__).__name__)")
    from_file = ["bash", "-c", f'exec "$@" < {program}', "bash"]
    command = [*mpich.command(2), *from_file, *job.python(entry_point), "-"]
    outcome = run(command, job.environment(mpich, **job.switches(entry_point)))
    assert outcome.lines() == ["__main__ numpy StoreSourceLoader"] * 2, outcome.stderr


@pytest.mark.parametrize("entry_point", ["early", "module"])
def test_a_missing_script_is_pythons_own_error(job: Job, mpich: Mpi, entry_point: str) -> None:
    plain, served = (job.run(mpich, 2, "no-such.py", entry_point=start) for start in ("plain", entry_point))
    assert served.ends_as(plain), (served, plain)
    assert "can't open file" in served.stderr and "no-such.py" in served.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [(["--nonsense", "x"], "unknown option --nonsense"), ([], "nothing to run"), (["-T"], "needs a value")],
)
def test_a_command_line_that_makes_no_sense_is_refused(job: Job, mpich: Mpi, words: list[str], said: str) -> None:
    outcome = job.run(mpich, 2, *words, entry_point="module")
    assert outcome.status not in (0, None)
    assert said in outcome.stderr


def test_verbose_says_how_each_module_was_imported(job: Job, mpich: Mpi) -> None:
    outcome = job.run(mpich, 2, "-v", "-c", "import json.decoder, numpy", entry_point="module")
    for rank in range(2):
        assert f"mpiimport[{rank}]: json.decoder from the store" in outcome.stderr
        assert f"mpiimport[{rank}]: numpy._core._multiarray_umath from the store" in outcome.stderr


def test_debug_imports_locally(job: Job, mpich: Mpi) -> None:
    text = "import json, sys; print(type(json.__loader__).__name__, 'mpi4py' in sys.modules)"
    assert job.run(mpich, 2, "-d", "-c", text, entry_point="module").lines() == ["SourceFileLoader False"] * 2
