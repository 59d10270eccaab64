"""One table makes flags, variables and their documentation; a flag beats its variable, and mistakes are named."""

import os

import pytest

from mpiimport.runtime.option_table import OPTIONS, Option
from mpiimport.runtime.options import OptionError, Options, from_environment, split_flags, unknown_variables
from mpiimport.runtime.size import Size
from mpiimport.runtime.spelling import nearest
from tests.conftest import ROOT

WITH_FLAG = [option for option in OPTIONS if option.flag]
FLAGS = [str(option.flag) for option in WITH_FLAG]
# Of each kind: a text and what it means, and another text and what that means.
SAMPLES: dict[type, tuple[str, object, str, object]] = {
    bool: ("1", True, "0", False),
    int: ("7", 7, "08", 8),
    str: ("some text", "some text", "0", "0"),
    tuple: ("one:two.three", ("one", "two.three"), ":0::", ("0",)),
    Size: ("4GiB", Size.parse("4GiB"), "7%", Size.parse("7%")),
}


def sample(option: Option) -> tuple[str, object, str, object]:
    """A text and what it means to the option, and another text and what that means."""
    if not option.choices:
        first, meaning, other, other_meaning = SAMPLES[option.kind]
        return (other, other_meaning, first, meaning) if meaning == option.default else SAMPLES[option.kind]
    first, second = sorted(option.choices, key=lambda choice: choice == option.default)[:2]
    return (first, first, second, second)


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("MPIIMPORT"):
            monkeypatch.delenv(name)


def read(words: list[str]) -> tuple[Options, list[str]]:
    flags, rest = split_flags(words)
    return from_environment(flags), rest


def value(options: Options, option: Option) -> object:
    return getattr(options, option.name)


@pytest.mark.parametrize(
    ("words", "flags", "program"),
    [
        ([], {}, []),
        (["app.py", "-v", "--report", "f"], {}, ["app.py", "-v", "--report", "f"]),
        (["-v", "app.py", "-d"], {"verbose": "1"}, ["app.py", "-d"]),
        (["-vd", "app.py"], {"verbose": "1", "debug": "1"}, ["app.py"]),
        (["-v", "-m", "module", "-v"], {"verbose": "1"}, ["-m", "module", "-v"]),
        (["-vm", "module"], {"verbose": "1"}, ["-m", "module"]),
        (["-vmmodule", "-d"], {"verbose": "1"}, ["-mmodule", "-d"]),
        (["-mmodule", "-v"], {}, ["-mmodule", "-v"]),
        (["-cprint()", "-v"], {}, ["-cprint()", "-v"]),
        (["-d", "-c", "print()"], {"debug": "1"}, ["-c", "print()"]),
        (["-v", "-", "-v"], {"verbose": "1"}, ["-", "-v"]),
        (["-T", "/dev/shm", "app.py"], {"store": "/dev/shm"}, ["app.py"]),
        (["-T/dev/shm", "app.py"], {"store": "/dev/shm"}, ["app.py"]),
        (["-dT", "-v", "app.py"], {"debug": "1", "store": "-v"}, ["app.py"]),
        (["-I", "site", "--report=a=b", "app.py"], {"profile": "site", "report": "a=b"}, ["app.py"]),
        (["--report", "--x", "app.py"], {"report": "--x"}, ["app.py"]),
        (["-T", "one", "-T", "two", "app.py"], {"store": "two"}, ["app.py"]),
    ],
)
def test_flags_end_where_the_program_begins(words: list[str], flags: dict[str, str], program: list[str]) -> None:
    before = list(words)
    assert split_flags(words) == (flags, program)
    assert words == before


@pytest.mark.parametrize(
    "words", [["-x", "app.py"], ["-vx", "app.py"], ["--nonsense=1"], ["--", "app.py"], ["--verbose"]]
)
def test_an_unknown_flag_is_named_with_the_known_ones(words: list[str]) -> None:
    with pytest.raises(OptionError, match="unknown option -") as caught:
        split_flags(words)
    assert all(flag in str(caught.value) for flag in FLAGS)


@pytest.mark.parametrize("option", [option for option in WITH_FLAG if option.metavar], ids=lambda option: option.name)
def test_a_flag_without_its_value_is_named(option: Option) -> None:
    with pytest.raises(OptionError, match=f"{option.flag} needs a value: {option.flag} {option.metavar}"):
        split_flags(["-v", str(option.flag)])


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_every_option_is_read_from_its_variable(option: Option, monkeypatch: pytest.MonkeyPatch) -> None:
    text, meaning, other_text, other_meaning = sample(option)
    assert value(from_environment(), option) == option.default != meaning
    monkeypatch.setenv(option.variable, text)
    options = from_environment()
    assert value(options, option) == meaning
    assert all(value(options, other) == other.default for other in OPTIONS if other is not option)
    monkeypatch.setenv(option.variable, other_text)
    assert value(from_environment(), option) == other_meaning
    monkeypatch.setenv(option.variable, "")
    assert value(from_environment(), option) == option.default


@pytest.mark.parametrize("option", WITH_FLAG, ids=lambda option: option.name)
def test_every_flag_means_the_same_as_its_variable_and_beats_it(
    option: Option, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, meaning, other, _ = sample(option)
    words = [str(option.flag), *([text] if option.metavar else [])]
    for said in ("", other, text):
        monkeypatch.setenv(option.variable, said)
        options, rest = read([*words, "app.py"])
        assert value(options, option) == meaning
        assert rest == ["app.py"]


def test_the_table_is_the_whole_of_the_options() -> None:
    assert [option.name for option in OPTIONS] == list(Options.__annotations__)
    assert len(set(FLAGS)) == len(FLAGS)
    assert {option.kind for option in OPTIONS if option.metavar is None} == {bool}
    assert [option.variable for option in OPTIONS] == ["MPIIMPORT_" + option.name.upper() for option in OPTIONS]


@pytest.mark.parametrize("text", ["0", "00", "-1", "+1", "1.5", "ten", " 1", "1e3", "²", "0x10"])
@pytest.mark.parametrize("option", [option for option in OPTIONS if option.kind is int], ids=lambda option: option.name)
def test_a_value_that_is_no_number_is_named(option: Option, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(option.variable, text)
    with pytest.raises(OptionError, match=f"{option.variable} takes a number above 0, not "):
        from_environment()


@pytest.mark.parametrize("text", ["4", "4GB", "0GiB", "-1GiB", "1.5GiB", "GiB", "%", "0%", "101%", "4 GiB", "²GiB"])
def test_a_value_that_is_no_size_is_named(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPIIMPORT_STORE_SIZE", text)
    with pytest.raises(OptionError, match="MPIIMPORT_STORE_SIZE takes a size such as 4GiB"):
        from_environment()


@pytest.mark.parametrize(
    ("text", "whole", "expected"),
    [
        ("3MiB", 1, 3 << 20),
        ("2GiB", 5, 2 << 30),
        ("1TiB", 0, 1 << 40),
        ("50%", 7, 3),
        ("100%", 7, 7),
    ],
)
def test_a_size_is_a_number_of_bytes(text: str, whole: int, expected: int) -> None:
    assert Size.parse(text).of(whole) == expected


@pytest.mark.parametrize("text", ["", "World", "none", "1"])
@pytest.mark.parametrize("option", [option for option in OPTIONS if option.choices], ids=lambda option: option.name)
def test_a_value_that_is_no_choice_is_named(option: Option, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(option.variable, text)
    if not text:
        assert value(from_environment(), option) == option.default
        return
    with pytest.raises(OptionError, match=f"{option.variable} is one of {option.choices[0]}, {option.choices[1]}"):
        from_environment()


def test_variables_that_are_no_options_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    for option in OPTIONS:
        monkeypatch.setenv(option.variable, sample(option)[0])
    monkeypatch.setenv("_MPIIMPORT_PID", "1")
    assert unknown_variables() == []
    monkeypatch.setenv("MPIIMPORT_STORES", "/tmp")
    assert unknown_variables() == ["MPIIMPORT_STORES"]


@pytest.mark.parametrize(
    ("word", "meant"),
    [("CACH", "CACHE"), ("STORESIZE", "STORE_SIZE"), ("REPORTS", "REPORT"), ("PYTHON", ""), ("X", "")],
)
def test_the_nearest_option_is_named(word: str, meant: str) -> None:
    assert nearest(word, [option.name.upper() for option in OPTIONS]) == meant


@pytest.mark.parametrize("switch", ["", "0", "1", "force"])
def test_the_switch_is_what_the_environment_says(switch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert from_environment().switch == ""
    monkeypatch.setenv("MPIIMPORT", switch)
    assert from_environment().switch == switch


def table() -> str:
    """The options as a Markdown table."""
    rows = ["| flag | variable | default | meaning |", "| --- | --- | --- | --- |"]
    for option in OPTIONS:
        flag = f"`{option.flag} {option.metavar}`" if option.metavar else f"`{option.flag}`"
        default = f"`{option.default}`" if option.default else ""
        if option.kind is bool:
            default = "on" if option.default else "off"
        rows.append(f"| {flag if option.flag else ''} | `{option.variable}` | {default} | {option.meaning} |")
    return "\n".join(rows)


def test_the_documentation_has_the_table() -> None:
    lines = (ROOT / "docs" / "options.md").read_text().splitlines()
    expected = table().splitlines()
    assert expected[0] in lines, "docs/options.md lacks the table that this test generates:\n" + table()
    start = lines.index(expected[0])
    end = next((number for number in range(start, len(lines)) if not lines[number].startswith("|")), len(lines))
    assert lines[start:end] == expected
