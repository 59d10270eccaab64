"""The JSON Schema of profiles, the launch side and the runtime agree on what a profile may say."""

import json
import re
import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from lab.ranks import clean_environment
from mpiimport.runtime.option_table import OPTIONS, Option
from mpiimport.runtime.options import from_environment
from tests.conftest import ROOT

PACKAGE = ROOT / "mpiimport"
SCHEMA = PACKAGE / "profiles" / "profile.schema.json"
VECTORS = ROOT / "hooks" / "profile" / "testdata"
SHIPPED = sorted(PACKAGE.glob("profiles/*.yaml"))
MACHINES = sorted(path.parent for path in (ROOT / "tests" / "support" / "machines").glob("*/hostname"))
# Of every key that becomes an option, by the option's name: its section, a value that is not the default in YAML, and
# the option's value.
SAMPLES: dict[str, tuple[str, str, object]] = {
    "store": ("service", "store: /dev/shm", "/dev/shm"),
    "store_size": ("service", "store_size: 4GiB", "4GiB"),
    "serve": ("service", "serve: listings", "listings"),
    "libraries": ("service", "libraries: direct", "direct"),
    "direct": ("service", "direct: [torch, 'libopenblas*']", ("torch", "libopenblas*")),
    "cache": ("service", "cache: auto", "auto"),
    "cache_on": ("service", "cache_on: [panfs, fuse.dfuse]", ("panfs", "fuse.dfuse")),
    "snapshot": ("service", "snapshot: false", False),
    "prepare": ("service", "prepare: auto", "auto"),
    "snapshot_hash_seeds": ("service", "snapshot_hash_seeds: fresh", "fresh"),
    "breadth": ("service", "breadth: package", "package"),
    "leave_alone": ("service", "leave_alone: [torch, scipy.io]", ("torch", "scipy.io")),
    "deadline": ("service", "deadline: 17", 17),
    "readers": ("service", "readers: 3", 3),
    "thread_level": ("service", "thread_level: funneled", "funneled"),
    "init": ("service", "init: 'off'", "off"),
    "preload": ("mpi", "preload: [/a/libx.so, liby.so.1]", ("/a/libx.so", "liby.so.1")),
    "binding": ("mpi", "binding: lazy", "lazy"),
    "rank_variables": ("launcher", "variables: {rank: R, local_size: L}", "R::L"),
}


def vectors(directory: str) -> list[Path]:
    return sorted((VECTORS / directory).glob("*.yaml"))


def name(path: Path) -> str:
    return path.stem


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(SCHEMA.read_text())
    return loaded


@pytest.fixture(scope="module")
def plan() -> Path:
    """The launch side's program, built by `make`."""
    path = ROOT / "build" / "bin" / "mpiimport-plan"
    assert path.exists(), "run `make test`, which builds build/bin first"
    return path


def is_valid(path: Path, schema: dict[str, Any]) -> bool:
    validator = jsonschema.validators.validator_for(schema)
    return bool(validator(schema).is_valid(yaml.safe_load(path.read_text())))


@pytest.fixture(scope="module")
def check(tmp_path_factory: pytest.TempPathFactory, plan: Path) -> Callable[[Path], str]:
    """Returns what the launch side has against a profile; empty where it accepts it."""
    prefix = tmp_path_factory.mktemp("prefix")
    (prefix / "profiles").mkdir()
    # What the vectors extend is found as an installed profile is.
    for path in [*SHIPPED, *vectors("accept")]:
        (prefix / "profiles" / path.name).symlink_to(path)
    environment = clean_environment(XDG_CONFIG_HOME=str(prefix))

    def complaint(path: Path) -> str:
        command = [str(plan), "check", "--prefix", str(prefix), str(path)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert done.returncode == (2 if done.stderr else 0)
        assert done.stdout == ""
        return done.stderr

    return complaint


def test_the_schema_is_a_schema(schema: dict[str, Any]) -> None:
    jsonschema.validators.validator_for(schema).check_schema(schema)
    assert schema["$schema"].endswith("2020-12/schema")


def test_the_schema_is_the_one_that_the_launch_side_prints(plan: Path) -> None:
    done = subprocess.run([str(plan), "schema"], stdout=subprocess.PIPE, check=True, text=True)
    assert done.stdout == SCHEMA.read_text()


def test_there_are_profiles_and_vectors() -> None:
    assert {path.stem for path in SHIPPED} >= {
        "mpich",
        "openmpi",
        "intel",
        "cray-mpich",
        "mvapich",
        "theta",
        "aurora",
        "lumi",
    }
    assert len(vectors("accept")) >= 3
    assert len(vectors("reject")) >= 30
    assert len(vectors("reject-text")) >= 9


@pytest.mark.parametrize("path", SHIPPED, ids=name)
def test_shipped_profiles_are_accepted(path: Path, schema: dict[str, Any], check: Callable[[Path], str]) -> None:
    assert is_valid(path, schema)
    assert check(path) == ""
    assert yaml.safe_load(path.read_text())["name"] == path.stem


@pytest.mark.parametrize("path", vectors("accept"), ids=name)
def test_what_the_format_accepts_is_accepted_by_both(
    path: Path, schema: dict[str, Any], check: Callable[[Path], str]
) -> None:
    assert is_valid(path, schema)
    assert check(path) == ""


def test_the_documented_format_is_accepted_and_is_all_of_it(
    schema: dict[str, Any], check: Callable[[Path], str], tmp_path: Path
) -> None:
    text = (ROOT / "docs" / "profiles.md").read_text()
    start = text.index("    schema_version: 1                     # required")
    path = tmp_path / "site.yaml"
    path.write_text(textwrap.dedent(text[start : text.index("\n**hosts", start)]))
    assert is_valid(path, schema)
    assert check(path) == ""
    documented = yaml.safe_load(path.read_text())
    assert set(documented) == set(schema["properties"])
    for section in ("environment", "mpi", "launcher", "service", "container"):
        assert set(documented[section]) == set(schema["properties"][section]["properties"])


@pytest.mark.parametrize("path", vectors("reject"), ids=name)
def test_what_the_format_rejects_is_rejected_by_both(
    path: Path, schema: dict[str, Any], check: Callable[[Path], str]
) -> None:
    assert not is_valid(path, schema)
    assert f"{path.name}:" in check(path)


@pytest.mark.parametrize("path", vectors("reject-text"), ids=name)
def test_what_only_a_reader_can_see_is_rejected_by_the_launch_side(path: Path, check: Callable[[Path], str]) -> None:
    assert f"{path.name}:" in check(path)


def places(schema: dict[str, Any], at: str = "") -> set[str]:
    """Where a schema lets variables stand."""
    inner = schema.get("properties", {}) | ({"": schema["items"]} if schema.get("type") == "array" else {})
    if isinstance(schema.get("additionalProperties"), dict):
        inner = {"NAME": schema["additionalProperties"]}
    own = {at} if schema.get("x-variables") else set()
    return own | {place for key, part in inner.items() for place in places(part, f"{at}.{key}".strip("."))}


# A section with the comments directly above it.
SECTION = re.compile(r"^((?:#.*\n)*)(\w+):((?:.*\n)(?:(?: .*)?\n)*)", re.MULTILINE)
IDENTITY = {"schema_version", "name", "description", "extends", "hosts", "host_variables"}


PARTS = [path for path in SHIPPED if 'description: "Part: ' in path.read_text()]


@pytest.mark.parametrize("path", PARTS, ids=lambda path: str(path.stem))
def test_each_section_of_a_part_has_its_source_in_a_comment(path: Path) -> None:
    sections = [found for found in SECTION.findall(path.read_text()) if found[1] not in IDENTITY]
    assert sections
    assert [name for above, name, body in sections if "#" not in above + body] == []


def test_the_parts_are_those_of_the_documentation() -> None:
    table = (ROOT / "docs" / "profiles.md").read_text().partition("| name | what it brings |")[2].partition("\n\n")[0]
    assert sorted(re.findall(r"`([a-z-]+)`(?=[^|]*\|[^|]*\|$)", table, re.MULTILINE)) == [path.stem for path in PARTS]


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: str(path.stem))
def test_each_shipped_profile_begins_with_what_it_is_of(path: Path) -> None:
    assert path.read_text().startswith("# ")


def test_variables_stand_in_values_that_vary_and_not_in_names_and_choices(schema: dict[str, Any]) -> None:
    changes = {f"environment.{change}.NAME" for change in ("set", "default", "append")}
    assert places(schema) == {
        *changes,
        *(f"user_namespace.{change}" for change in changes),
        *(
            "mounts.source",
            "mounts.target",
            "mpi.library",
            "mpi.preload",
            "mpi.inject.from",
            "mpi.inject.search",
            "service.store",
            "container.options",
        ),
    }


def test_every_machine_has_a_plan_for_every_profile() -> None:
    assert {machine.name for machine in MACHINES} >= {"theta", "perlmutter", "aurora", "frontier", "lumi", "cluster"}
    for machine in MACHINES:
        plans = json.loads((machine / "plans.json").read_text())
        assert sorted(plans) == sorted(path.stem for path in SHIPPED)


def test_service_keys_are_options_of_the_runtime(schema: dict[str, Any]) -> None:
    keys = set(schema["properties"]["service"]["properties"])
    assert keys - {option.name for option in OPTIONS} == set()


def test_the_samples_are_of_all_keys(schema: dict[str, Any]) -> None:
    keys = {key for key, (section, _, _) in SAMPLES.items() if section == "service"}
    assert keys == set(schema["properties"]["service"]["properties"])


@pytest.mark.parametrize("option", SAMPLES)
def test_a_key_becomes_the_variable_that_the_runtime_reads(
    option: str, schema: dict[str, Any], plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    section, line, value = SAMPLES[option]
    path = tmp_path / "sample.yaml"
    path.write_text(f"schema_version: 1\nname: sample\ndescription: a test\n{section}:\n  {line}\n")
    assert is_valid(path, schema)
    command = [str(plan), "show", "--prefix", str(PACKAGE), "--profile", str(path), "python", "app.py"]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, env=clean_environment())
    variable = f"MPIIMPORT_{option.upper()}"
    (change,) = [change for change in json.loads(done.stdout)["environment"] if change["name"] == variable]
    assert change["change"] == "set"
    monkeypatch.setenv(variable, change["value"])
    assert getattr(from_environment(), option) == value


@pytest.mark.parametrize("option", [option for option in OPTIONS if option.choices], ids=lambda option: option.name)
def test_choices_are_those_of_the_runtime(option: Option, schema: dict[str, Any]) -> None:
    section = SAMPLES[option.name][0]
    assert schema["properties"][section]["properties"][option.name]["enum"] == list(option.choices)
