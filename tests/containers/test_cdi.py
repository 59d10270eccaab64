"""CDI devices: what is written is a specification to every runtime, and a device serves under real podman."""

import json
import subprocess
from pathlib import Path

import jsonschema
import pytest
import referencing.jsonschema

from lab.ranks import Mpi, run
from tests.conftest import provision, write_profile
from tests.containers.cells import Cell, Site
from tests.containers.entry_points import ENTRY_POINTS

SERVED = "print(type(__import__('numpy').__loader__).__name__)"
VERSIONS = ("0.5.4", "0.6.2", "0.7.2")


@pytest.fixture(scope="module")
def schemas() -> Path:
    return provision("cdi_schema.sh")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("shm", ["host", "noexec", "private"])
def test_devices_are_what_the_runtimes_schema_says(prefix: Path, schemas: Path, version: str, shm: str) -> None:
    done = _plan(prefix, "--all", "--shm", shm)
    assert done.returncode == 0, done.stderr
    specification = json.loads(done.stdout)
    _validator(schemas / version).validate(specification)
    assert specification["kind"] == "mpiimport.org/profile"
    names = [device["name"] for device in specification["devices"]]
    assert len(names) == len(set(names))
    assert {"default", "mpich", "openmpi", "perlmutter"} <= set(names)


def test_the_schema_sees_a_mistake(prefix: Path, schemas: Path) -> None:
    specification = json.loads(_plan(prefix, "--profile", "mpich").stdout)
    specification["devices"][0]["containerEdits"]["mounts"][0]["options"] = "ro"
    with pytest.raises(jsonschema.ValidationError):
        _validator(schemas / VERSIONS[-1]).validate(specification)


def test_a_profile_that_a_device_cannot_carry_out_is_refused(prefix: Path, tmp_path: Path) -> None:
    profile = tmp_path / "long.yaml"
    profile.write_text("{schema_version: 1, name: long, description: d, environment: {append: {LD_LIBRARY_PATH: /x}}}")
    done = _plan(prefix, "--profile", str(profile))
    assert (done.returncode, done.stdout) == (2, "")
    assert "wants to append LD_LIBRARY_PATH" in done.stderr


def test_a_specification_is_replaced_whole(prefix: Path, tmp_path: Path) -> None:
    file = tmp_path / "mpiimport.json"
    for profile in ("mpich", "openmpi"):
        assert _plan(prefix, "--profile", profile, "--output", str(file)).returncode == 0
        assert [device["name"] for device in json.loads(file.read_text())["devices"]] == [profile]
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(("runtime", "identity"), [("runc", "root"), ("crun", "user")])
def test_a_device_serves_under_both_runtimes(site: Site, mpich: Mpi, runtime: str, identity: str) -> None:
    cell, entry_point = Cell("cdi", "oci", identity, "contained", "mpich"), ENTRY_POINTS["cdi"]
    script = site.script(identity, SERVED)
    workspace = script.parent
    first, *rest = entry_point.command(site, cell, mpich, 2, script, [])
    command = site.as_identity(identity, [first, "--runtime", runtime, *rest])
    outcome = run(command, entry_point.environment(site, cell, mpich), directory=workspace)
    assert outcome.lines() == ["StoreSourceLoader"] * 2, outcome.stderr


def _plan(prefix: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    command = [str(prefix / "bin" / "mpiimport-plan"), "cdi", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={})


def _validator(directory: Path) -> jsonschema.Draft7Validator:
    schema, definitions = (json.loads((directory / name).read_text()) for name in ("schema.json", "defs.json"))
    draft = referencing.jsonschema.DRAFT7
    registry = referencing.Registry().with_resource("defs.json", draft.create_resource(definitions))
    return jsonschema.Draft7Validator(schema, registry=registry)


def test_a_file_with_an_odd_name_costs_no_other_profile_its_device(prefix: Path, tmp_path: Path) -> None:
    profiles = tmp_path / "mpiimport" / "profiles"
    for name in ("-x", "x-", "x--y"):
        write_profile(profiles / f"{name}.yaml")
    output = tmp_path / "cdi" / "devices.json"
    command: list[str | Path] = [prefix / "bin" / "mpiimport-plan", "cdi", "--all", "--output", output]
    settings = {"XDG_CONFIG_HOME": str(tmp_path)}
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=True, umask=0o077)
    names = {device["name"] for device in json.loads(output.read_text())["devices"]}
    assert {"mpich", "default", "x--y"} <= names and not {"-x", "x-"} & names
    assert "no device for -x: " in done.stderr and "no device for x-: " in done.stderr
    assert output.stat().st_mode & 0o777 == 0o644
