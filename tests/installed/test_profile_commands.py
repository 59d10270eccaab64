"""`mpiimport profile list|show|new|check|export`: what people see is what the launch side resolves."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from lab.ranks import Outcome, clean_environment, run
from tests.conftest import ROOT

SCHEMA = json.loads((ROOT / "mpiimport" / "profiles" / "profile.schema.json").read_text())
HEAD = "schema_version: 1\nname: {name}\ndescription: a test\n"
Profile = Callable[..., Outcome]


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """The directory of a person's profiles."""
    path = tmp_path / "config" / "mpiimport" / "profiles"
    path.mkdir(parents=True)
    return path


@pytest.fixture
def profile(prefix: Path, tmp_path: Path, own: Path) -> Profile:
    def command(*words: str | Path, **variables: str) -> Outcome:
        environment = clean_environment(XDG_CONFIG_HOME=str(tmp_path / "config"), **variables)
        return run([str(prefix / "bin" / "mpiimport"), "profile", *map(str, words)], environment, 60, tmp_path)

    return command


def write(directory: Path, name: str, text: str) -> Path:
    path = directory / f"{name}.yaml"
    path.write_text(HEAD.format(name=name) + text)
    return path


@pytest.mark.parametrize(
    ("config", "home"),
    [("config", "home"), ("", "home"), ("/nowhere/..", "home"), (None, "home"), (None, "/dev/null"), (None, "")],
    ids=["relative", "empty", "absolute", "home", "no directory", "no home"],
)
def test_a_new_profile_lies_where_launches_look(prefix: Path, tmp_path: Path, config: str | None, home: str) -> None:
    environment = clean_environment(HOME=str(tmp_path / home) if home else "")
    environment.pop("XDG_CONFIG_HOME", None)
    if config is not None:
        environment["XDG_CONFIG_HOME"] = f"{tmp_path}{config}" if config.startswith("/") else config
    command = str(prefix / "bin" / "mpiimport")
    made = run([command, "profile", "new", "mine", "--extends", "mpich"], environment, 60, tmp_path)
    shown = run([command, "profile", "show", "mine"], environment, 60, tmp_path)
    if home in ("/dev/null", ""):
        assert (made.status, shown.status) == (1, 1) and "--directory" in made.stderr, made.stderr
        shipped = run([command, "profile", "show", "mpich"], environment, 60, tmp_path)
        assert shipped.status == 0, shipped.stderr
        assert not list(tmp_path.iterdir())
    else:
        assert (made.status, shown.status) == (0, 0), made.stderr + shown.stderr


def test_list_names_shipped_and_own_profiles(profile: Profile, own: Path) -> None:
    write(own, "mine", "")
    names = [line.split()[0] for line in profile("list").stdout.splitlines()]
    assert {"mpich", "openmpi", "intel", "mine"} <= set(names)


def test_a_broken_profile_does_not_hide_the_others(profile: Profile, own: Path, prefix: Path, tmp_path: Path) -> None:
    sound = profile("list").stdout
    path = write(own, "broken", "mount: []\n")
    write(own, "orphan", "extends: nosuch\n")
    reasons = [
        f'the profile broken cannot be used: {path}:4: the profile has no key "mount"; did you mean mounts?',
        'the profile orphan cannot be used: there is no profile "nosuch"',
    ]
    plan = [str(prefix / "bin" / "mpiimport-plan"), "list"]
    by_binary = run(plan, clean_environment(XDG_CONFIG_HOME=str(tmp_path / "config")), 60, tmp_path)
    for program, outcome in (("mpiimport", profile("list")), ("mpiimport-plan", by_binary)):
        assert (outcome.status, outcome.stdout) == (1, sound)
        for line, reason in zip(outcome.stderr.splitlines(), reasons, strict=True):
            assert line.startswith(f"{program}: {reason}")


def test_provenance_names_the_line_that_won(profile: Profile, own: Path, prefix: Path) -> None:
    mine = write(own, "mine", "extends: openmpi\nenvironment:\n  set: {A: 'base'}\n")
    top = write(own, "top", "extends: mine\nenvironment:\n  set:\n    A: 'won'\n")
    lines = profile("show", "top", "--provenance").stdout.splitlines()
    assert f"environment.set.A: won  # {top}:7" in lines
    assert not any(str(mine) in line for line in lines if "environment.set.A" in line)
    shipped = prefix / "profiles" / "openmpi.yaml"
    single_copy = "user_namespace.environment.set.OMPI_MCA_smsc"
    assert any(line.startswith(f"{single_copy}: ") and f"# {shipped}:" in line for line in lines)
    plain = profile("show", "top").stdout.splitlines()
    assert plain == [line.rpartition("  # ")[0] for line in lines]


def test_the_last_directory_masks_a_profile_of_the_same_name(profile: Profile, own: Path) -> None:
    mask = write(own, "openmpi", "environment:\n  set: {A: 'mine'}\n")
    shown = profile("show", "openmpi", "--provenance").stdout
    assert f"environment.set.A: mine  # {mask}:5" in shown
    assert "OMPI_MCA_smsc" not in shown


def test_a_mistake_is_the_launch_sides_complaint(profile: Profile, own: Path) -> None:
    broken = write(own, "broken", "mount: []\n")
    for words in (("show", "broken"), ("check", "broken"), ("check", broken), ("show", broken)):
        outcome = profile(*words)
        assert outcome.status == 1
        assert f'{broken}:4: the profile has no key "mount"; did you mean mounts?' in outcome.stderr
    assert "there is no profile" in profile("show", "nosuch").stderr


def test_a_new_profile_is_valid_and_names_every_key(profile: Profile, own: Path) -> None:
    outcome = profile("new", "site", "--extends", "openmpi")
    assert outcome.status == 0, outcome.stderr
    path = own / "site.yaml"
    assert outcome.stdout == f"{path}\n"
    assert profile("check", "site").status == 0
    assert yaml.safe_load(path.read_text()).keys() == {"schema_version", "name", "description", "extends"}
    # Its comments are the whole format: without them it is YAML with every key.
    lines = path.read_text().splitlines()[1:]
    bare = yaml.safe_load("\n".join(line.removeprefix("#") for line in lines))
    assert keys(bare) == names(SCHEMA)


def keys(value: object) -> set[str]:
    if isinstance(value, list):
        return keys(value[0])
    if not isinstance(value, dict):
        return set()
    return {key for key in value if key != "NAME"} | {key for inner in value.values() for key in keys(inner)}


def names(schema: object) -> set[str]:
    if not isinstance(schema, dict):
        return set()
    own = set(schema.get("properties", ()))
    inner = [*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")]
    return own | {name for part in inner for name in names(part)}


def test_a_new_profile_never_overwrites_one(profile: Profile, own: Path) -> None:
    path = write(own, "site", "")
    before = path.read_text()
    outcome = profile("new", "site")
    assert outcome.status == 1 and f"{path} exists" in outcome.stderr
    assert path.read_text() == before


@pytest.mark.parametrize(("words", "reason"), [(("Site!",), "name"), (("site", "--extends", "nosuch"), "nosuch")])
def test_what_would_be_no_profile_is_not_left(profile: Profile, own: Path, words: tuple[str], reason: str) -> None:
    outcome = profile("new", *words)
    assert outcome.status == 1 and reason in outcome.stderr
    assert list(own.iterdir()) == []


def test_missing_mount_sources_are_all_named(profile: Profile, own: Path, tmp_path: Path) -> None:
    path = write(
        own,
        "site",
        "mounts:\n"
        "  - {source: /nowhere/a}\n"
        "  - {source: /nowhere/b, target: /b}\n"
        "  - {source: /nowhere/c*}\n"
        "  - {source: /nowhere/d, optional: true}\n"
        f"  - {{source: {tmp_path}/conf*}}\n"
        f"  - {{source: {tmp_path}}}\n",
    )
    outcome = profile("check", "site")
    assert outcome.status == 1
    lines = outcome.stdout.splitlines()
    assert [line.split(" does not exist")[0] for line in lines] == [
        f"{path}:{number}: the mount source {source}"
        for number, source in ((5, "/nowhere/a"), (6, "/nowhere/b"), (7, "/nowhere/c*"))
    ]
    assert all("add `optional: true` if not every node has it" in line for line in lines)


def test_a_value_with_variables_is_shown_in_both_forms(profile: Profile, own: Path, tmp_path: Path) -> None:
    path = write(
        own,
        "site",
        "environment: {set: {A: '${TOP}/a', B: '$$HOME'}}\n"
        "mounts:\n"
        "  - {source: '${TOP}'}\n"
        "  - {source: '${TOP}/b'}\n"
        "  - {source: '${NO_SUCH}/b'}\n",
    )
    unset = "excluded: NO_SUCH is not set; set it, or give it a default there, as in ${NO_SUCH:-VALUE}"
    forms = [
        (4, "environment.set.A: ${TOP}/a -> /top/a"),
        (4, "environment.set.B: $$HOME -> $HOME"),
        (6, 'mounts: {"source": "${TOP}"} -> {"source": "/top"}'),
        (7, 'mounts: {"source": "${TOP}/b"} -> {"source": "/top/b"}'),
        (8, f'mounts: {{"source": "${{NO_SUCH}}/b"}} -> {unset}'),
    ]
    top = {"TOP": str(tmp_path)}
    expected = [(line, text.replace("/top", str(tmp_path))) for line, text in forms]
    shown = profile("show", "site", "--provenance", **top).stdout.splitlines()
    assert shown[3:] == [f"{text}  # {path}:{line}" for line, text in expected]
    checked = profile("check", "site", **top)
    *said, complaint = checked.stdout.splitlines()
    assert said == [f"{path}:{line}: {text}" for line, text in expected]
    assert complaint.startswith(f"{path}:7: the mount source {tmp_path}/b does not exist on this host")
    assert checked.status == 1


def test_missing_devices_are_all_named(profile: Profile, own: Path) -> None:
    there, optional = "{path: /dev/null}, {path: '/dev/nul?'}", "{path: /dev/no, optional: true}"
    path = write(own, "site", f"devices: [{there}, {optional}, {{path: /dev/shm}}, {{path: /dev/no}}]\n")
    outcome = profile("check", "site")
    lines = outcome.stdout.splitlines()
    assert [line.split(";")[0] for line in lines] == [
        f"{path}:4: no device node of this host is called {device}" for device in ("/dev/shm", "/dev/no")
    ]
    assert outcome.status == 1


def test_shipped_profiles_fit_any_machine(profile: Profile) -> None:
    for line in profile("list").stdout.splitlines():
        outcome = profile("check", line.split()[0])
        assert outcome.status == 0, outcome.stdout + outcome.stderr


def test_an_export_is_the_launch_sides_device(profile: Profile, own: Path, tmp_path: Path) -> None:
    write(own, "mine", "extends: openmpi\nenvironment: {set: {A: 'mine'}}\n")
    outcome = profile("export", "--cdi", "mine")
    (device,) = json.loads(outcome.stdout)["devices"]
    assert device["name"] == "mine" and "A=mine" in device["containerEdits"]["env"]
    assert profile("export", "--cdi", "mine", "--output", "mine.json").stdout == ""
    assert (tmp_path / "mine.json").read_text() == outcome.stdout
    assert "there is no profile" in profile("export", "--cdi", "nosuch").stderr


def test_the_shim_is_where_it_says(prefix: Path) -> None:
    done = subprocess.run(
        [prefix / "bin" / "mpiimport", "shim-path"], stdout=subprocess.PIPE, text=True, check=True, env=dict(os.environ)
    )
    assert Path(done.stdout.strip()).samefile(prefix / "shim")


def test_show_and_check_say_what_launches_pass_over(profile: Profile, own: Path) -> None:
    write(own, "mine", "service: {readers: 2}\n")
    assert (profile("show").status, profile("check", "mine").status) == (0, 0)
    broken = write(own, "default", "mounds: []\n")
    for outcome in (profile("show"), profile("show", "mine"), profile("check", "mine")):
        said = outcome.stdout + outcome.stderr
        assert outcome.status == 1 and f"a profile that nobody named is passed over: {broken}:4" in said, said
    broken.unlink()
    own.chmod(0o777)
    for outcome in (profile("show"), profile("check", "mine")):
        said = outcome.stdout + outcome.stderr
        assert outcome.status == 1 and f"{own} has mode 0777: others can write to it" in said, said
