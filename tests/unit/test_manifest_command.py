"""`mpiimport manifest show|diff|prune`: what is kept can be read, compared and cleared by a person."""

import os
import time
from pathlib import Path

import pytest

from mpiimport.host.cli import main
from mpiimport.runtime.payload.learned_manifest import Learned


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MPIIMPORT_MANIFESTS", str(tmp_path / "manifests"))
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path / "manifests"


def keep(directory: Path, name: str, program: str, imported: set[str]) -> Path:
    learned = Learned(program, "cpython-311 /usr 1f")
    learned.imported = imported
    path = directory / f"{name}.manifest"
    learned.write(str(path))
    return path


def test_an_empty_cache_is_said_to_be_empty(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["manifest", "show"]) == 0
    assert capsys.readouterr().out == f"no manifests in {directory}\n"


def test_the_list_names_program_tree_and_size(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep(directory, "one", "script /home/ada/[bold]app.py", {"numpy", "numpy.linalg", "json"})
    (directory / "bad.manifest").write_text("nonsense")
    assert main(["manifest", "show"]) == 0
    out = capsys.readouterr().out
    assert "script /home/ada/[bold]app.py" in out and "cpython-311 /usr" in out and "numpy, json" in out
    assert "line 1 is not" in out


@pytest.mark.parametrize("by", ["file", "name", "script", "module"])
def test_a_manifest_is_shown_by_file_script_or_module(
    directory: Path, capsys: pytest.CaptureFixture[str], by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program = "module pkg.app" if by == "module" else f"script {tmp_path / 'app.py'}"
    path = keep(directory, "one", program, {"numpy"})
    which = {"file": str(path), "name": path.name, "script": "app.py", "module": "pkg.app"}[by]
    assert main(["manifest", "show", which]) == 0
    assert "import numpy\n" in capsys.readouterr().out


def test_differences_are_lines_with_a_sign_and_status_1(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = keep(directory, "old", "script /a.py", {"json", "numpy"})
    new = keep(directory, "new", "script /a.py", {"json", "scipy"})
    assert main(["manifest", "diff", str(old), str(new)]) == 1
    assert capsys.readouterr().out.splitlines() == ["- import numpy", "+ import scipy"]
    assert main(["manifest", "diff", str(old), str(old)]) == 0
    assert capsys.readouterr().out == ""


def test_pruning_removes_what_is_of_no_more_use(
    directory: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    script = tmp_path / "app.py"
    script.touch()
    kept = keep(directory, "kept", f"script {script}", {"json"})
    # Of a container, as far as this machine can tell.
    elsewhere = keep(directory, "elsewhere", "script /no/such/app.py", {"json"})
    old = keep(directory, "old", "module json.tool", {"json"})
    os.utime(old, (time.time() - 100 * 86400,) * 2)
    bad = directory / "bad.manifest"
    bad.write_text("mpiimport manifest 1\nnonsense")
    foreign, link = directory / "foreign.manifest", directory / "link.manifest"
    foreign.write_text("nonsense")
    link.symlink_to(bad)
    other = directory / "notes.txt"
    other.write_text("not ours")
    being_written, left = (directory / f"{script.name}-1.manifest.{digit * 16}" for digit in "0f")
    for path in (being_written, left):
        path.touch()
    os.utime(left, (time.time() - 7200,) * 2)
    before = set(directory.iterdir())
    assert main(["manifest", "prune", "--dry-run"]) == 0
    assert set(directory.iterdir()) == before >= {kept, elsewhere, old, bad, other, left}
    assert main(["manifest", "prune"]) == 0
    assert set(directory.iterdir()) == {kept, elsewhere, other, being_written, foreign, link}
    said = capsys.readouterr().out
    assert "not changed for 100 days" in said and "malformed" in said
    assert f"{left}: its writer was killed" in said


@pytest.mark.parametrize("variables", [{"HOME": ""}, {"HOME": "here"}, {"HOME": "", "MPIIMPORT_MANIFESTS": ""}])
def test_manifests_are_never_looked_for_in_the_current_directory(
    variables: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("MPIIMPORT_MANIFESTS", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    own = tmp_path / "app.manifest"
    own.write_text("mpiimport manifest 1\nof a person\n")
    for action in ("prune", "show"):
        assert main(["manifest", action]) == 1
        assert "name that of the manifests with --directory" in capsys.readouterr().err
    assert own.exists()
    monkeypatch.setenv("MPIIMPORT_MANIFESTS", "relative")
    assert main(["manifest", "show"]) == 0


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["manifest", "show", "nothing.py"], 1, "no manifest of nothing.py"),
        (["manifest", "show", "nothing.manifest"], 1, "No such file"),
        (["manifest", "diff", "a.manifest"], 2, "NEW"),
        (["manifest", "prune", "--days", "-1"], 2, "-1 is no number of days"),
        (["manifest"], 2, "ACTION"),
        ([], 2, "COMMAND"),
        (["bake", "image.sif"], 2, "after --"),
        (["bake", "no-such.sif", "--", "python"], 1, "there is no image no-such.sif"),
        (["bake", "docker://image", "--", "python"], 1, "pull it first"),
        (["bake", "--output", "x", "--", "python"], 1, "--output is for image files"),
        (["bake", "--", "/no/such/command"], 1, "cannot run /no/such/command"),
        (["bake", "--", "false"], 1, "false ended with status 1"),
        (["bake", "--", "true"], 1, "no CPython 3.10 or newer was run"),
        (["manifest", "show", "--", "x"], 2, "unexpected: -- x"),
    ],
)
def test_a_mistake_is_named(words: list[str], status: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    ended: int | str | None
    try:
        ended = main(words)
    except SystemExit as exc:
        ended = exc.code
    assert ended == status
    assert said in capsys.readouterr().err.replace("\n", " ")
