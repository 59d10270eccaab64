"""What the launch side writes for runtimes is valid to those who made the formats: OCI's schema and CDI's library."""

import json
import subprocess
from pathlib import Path

import jsonschema
import referencing.jsonschema

from tests.random_input.conftest import Cases, content, module_directory

CDI_LIBRARY = Path(__file__).parent / "cdi_library"


def test_an_edited_configuration_is_as_valid_as_it_was(cases: Cases, go: str) -> None:
    schemas = module_directory(go, "github.com/opencontainers/runtime-spec") / "schema"
    draft = referencing.jsonschema.DRAFT4
    files = {path.name: json.loads(path.read_text()) for path in schemas.glob("*.json")}
    # The schemas name each other by their files, and themselves by places that are no files.
    resources = [(name, draft.create_resource({**text, "id": name})) for name, text in files.items()]
    registry = referencing.Registry().with_resources(resources)
    validator = jsonschema.Draft4Validator(
        {**files["config-schema.json"], "id": "config-schema.json"}, registry=registry
    )
    valid = 0
    for case in cases("./internal/entrypoints/ocihook", "FuzzDamagedConfigurations", "configurations"):
        if validator.is_valid(json.loads(content(case["before"]))):
            valid += 1
            assert list(validator.iter_errors(json.loads(content(case["after"])))) == [], case
    assert valid > 50


def test_the_library_of_cdi_takes_every_device(cases: Cases, go: str, tmp_path: Path) -> None:
    library = tmp_path / "library"
    subprocess.run([go, "build", "-o", library, "."], cwd=CDI_LIBRARY, check=True)
    specifications = [
        content(case["specification"]) for case in cases("./internal/entrypoints/cdi", "FuzzDevices", "devices")
    ]
    assert len(specifications) > 50
    lines = b"".join(json.dumps(json.loads(text)).encode() + b"\n" for text in specifications)
    done = subprocess.run([library, tmp_path], input=lines, capture_output=True)
    assert (done.returncode, done.stdout.decode()) == (0, ""), done.stderr.decode()


def test_the_library_of_cdi_sees_a_mistake(go: str, tmp_path: Path) -> None:
    library = tmp_path / "library"
    subprocess.run([go, "build", "-o", library, "."], cwd=CDI_LIBRARY, check=True)
    wrong = {
        "cdiVersion": "0.5.0",
        "kind": "mpiimport.org/profile",
        "devices": [{"name": "x", "containerEdits": {"mounts": [{"hostPath": "/a"}]}}],
    }
    done = subprocess.run([library, tmp_path], input=json.dumps(wrong).encode() + b"\n", capture_output=True)
    assert b"invalid mount" in done.stdout, done.stderr
