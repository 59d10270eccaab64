"""A learned manifest is read back as written, merges with others, and is refused when it is anything else."""

import re
from pathlib import Path

import pytest

from mpiimport.runtime.payload import learning
from mpiimport.runtime.payload.learned_manifest import Learned, Malformed, file_name, user_directory
from mpiimport.runtime.payload.learning import NONE, Learning
from mpiimport.runtime.program import COMMAND, INPUT, MODULE, SCRIPT, Program


def example() -> Learned:
    learned = Learned("script /home/ada/app.py", "cpython-311 /usr 1f")
    learned.imported = {"numpy", "numpy.linalg", "überall"}
    learned.skipped = {"scipy.stats"}
    learned.searched = {"-": ["/home/ada/my lib"], "numpy": ["/opt/extra", "/opt/more"]}
    return learned


def fields(learned: Learned) -> list[object]:
    return [getattr(learned, name) for name in Learned.__slots__]


def test_it_is_read_back_as_written(tmp_path: Path) -> None:
    path = tmp_path / "not" / "there" / "yet.manifest"
    example().write(str(path))
    assert fields(Learned.read(str(path))) == fields(example())
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]
    assert path.parent.stat().st_mode & 0o77 == 0


def test_a_name_of_several_lines_is_written_in_one() -> None:
    learned = Learned("script a\nb.py", "/a\ntree")
    assert Learned.parse(learned.text()).program == "script a b.py"


def test_every_cut_is_noticed() -> None:
    text = example().text()
    for length in range(len(text)):
        with pytest.raises(Malformed):
            Learned.parse(text[:length])


@pytest.mark.parametrize(
    "line",
    [
        "import",
        "import a b",
        "import ../etc",
        "import a..b",
        "search numpy relative",
        "search /x",
        "skip ",
        "",
        "code 1",
    ],
)
def test_a_line_that_means_nothing_is_named(line: str) -> None:
    text = example().text().replace("skip scipy.stats", line)
    with pytest.raises(Malformed, match=re.escape(f"line 7 is not understood: {line!r}")):
        Learned.parse(text)


@pytest.mark.parametrize("name", ["_sysconfigdata__x86_64-linux-gnu", "package.0001_initial", "überall"])
def test_modules_that_no_statement_could_import_have_names_too(name: str) -> None:
    learned = Learned()
    learned.imported = {name}
    assert Learned.parse(learned.text()).imported == {name}


def test_what_was_imported_once_is_not_skipped() -> None:
    first, second = Learned(), Learned()
    first.imported, first.skipped = {"a"}, {"b", "c"}
    second.imported, second.skipped, second.searched = {"b"}, {"a"}, {"-": ["/x", "/y"]}
    first.searched = {"-": ["/y"]}
    first.merge(second)
    assert (first.imported, first.skipped, first.searched) == ({"a", "b"}, {"c"}, {"-": ["/y", "/x"]})


def test_the_packages_of_what_was_imported_are_not_skipped() -> None:
    learned, other = Learned(), Learned()
    learned.skipped = {"space", "space.inner", "space.other"}
    other.imported = {"space.inner.leaf"}
    learned.merge(other)
    assert learned.skipped == {"space.other"}


def test_names_that_are_no_names_are_not_written() -> None:
    learned = Learned()
    learned.imported = {"good", "bad name", "bad\nskip other", "."}
    assert Learned.parse(learned.text()).imported == {"good"}


def test_programs_and_trees_have_files_of_their_own() -> None:
    programs = [
        Program(SCRIPT, "/a/app.py", []),
        Program(SCRIPT, "/b/app.py", []),
        Program(MODULE, "app.py", []),
        Program(COMMAND, "/a/app.py", []),
    ]
    assert len({file_name(program, tree) for program in programs for tree in ("one", "other")}) == 8
    assert file_name(programs[0]) == file_name(programs[1]) != file_name(programs[2])
    assert file_name(Program(SCRIPT, "/a/./app.py", ["x"]), "t") == file_name(programs[0], "t")
    assert file_name(Program(INPUT, "-", []), "t") == ""


def test_the_users_directory_follows_the_base_directory_specification(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/x/cache")
    assert user_directory() == "/x/cache/mpiimport/manifests"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/ada")
    assert user_directory() == "/home/ada/.cache/mpiimport/manifests"


def test_a_damaged_file_is_neither_used_nor_overwritten(tmp_path: Path) -> None:
    program = Program(COMMAND, "import json", [])
    first = Learning.of(program, str(tmp_path))
    first.finish({}, {"json": 1})
    (path,) = tmp_path.iterdir()
    assert Learning.of(program, str(tmp_path)).known.imported == {"json"}
    path.write_text(path.read_text()[:-3])
    damaged = path.read_text()
    again = Learning.of(program, str(tmp_path))
    assert again.known.imported == set()
    (complaint,) = again.complaints
    assert str(path) in complaint and "remove it" in complaint
    again.finish({}, {"json": 1})
    assert path.read_text() == damaged


def test_a_first_run_begins_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "file_system", lambda path: "ext4")
    program = Program(COMMAND, "import json", [])
    assert Learning.of(program, str(tmp_path)).begin()
    # It may have ended without a word.
    again = Learning.of(program, str(tmp_path))
    assert not again.begin()
    assert again.known.imported == set()


def test_no_first_run_begins_where_none_can_be_learned_from(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    program = Program(COMMAND, "import json", [])
    for manifests in (NONE, str(tmp_path / "file" / "below")):
        assert not Learning.of(program, manifests).begin()


@pytest.mark.parametrize("kind", ["tmpfs", "overlay"])
def test_what_goes_with_a_container_is_no_place_to_learn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(learning, "file_system", lambda path: kind)
    assert not Learning.of(Program(COMMAND, "import json", []), str(tmp_path)).begin()


def test_nothing_is_kept_where_nothing_is_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for manifests, program in (NONE, Program(COMMAND, "import json", [])), ("", Program(INPUT, "-", [])):
        Learning.of(program, manifests).finish({}, {"json": 1})
    assert list(tmp_path.iterdir()) == []


def test_jobs_that_end_together_lose_nothing_they_saw_before(tmp_path: Path) -> None:
    program = Program(COMMAND, "import json", [])
    one, other = Learning.of(program, str(tmp_path)), Learning.of(program, str(tmp_path))
    one.finish({}, {"json": 1})
    other.finish({}, {"csv": 1})
    assert Learning.of(program, str(tmp_path)).known.imported == {"json", "csv"}
