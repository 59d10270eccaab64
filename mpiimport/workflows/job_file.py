"""Jobs as people write them: a YAML file by ``job.schema.json``."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from mpiimport.host.complaint import Complaint

from .job import Job

SCHEMA = Path(__file__).with_name("job.schema.json")
LISTS = "program", "launcher", "options"


def read_job(file: Path) -> Job:
    """Return the job that a file describes. Raises Complaint with the place and the remedy."""
    try:
        content = yaml.safe_load(file.read_text())
    except OSError as exc:
        raise Complaint(f"cannot read the job {file}: {exc.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as exc:
        raise Complaint(f"{file} is no YAML: {' '.join(str(exc).split())}") from None
    except RecursionError:
        raise Complaint(f"{file} is nested too deeply, so it is no job") from None
    try:
        json.dumps(content, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError as exc:
        half = exc.object[exc.start]
        raise Complaint(f"{file} has half a character, {half!r}, which no program can get; write a whole one") from None
    schema = json.loads(SCHEMA.read_text())
    error = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(schema).iter_errors(content))
    if error is not None:
        where = ".".join(str(key) for key in error.absolute_path)
        meaning = error.schema.get("description", "") if isinstance(error.schema, dict) else ""
        raise Complaint(f"{file}: {f'{where}: ' if where else ''}{error.message}{f' ({meaning})' if meaning else ''}")
    fields: dict[str, Any] = {key: tuple(value) if key in LISTS else value for key, value in content.items()}
    # JSON's integers may be written 4.0.
    fields |= {key: int(value) for key, value in fields.items() if type(value) is float}
    return Job(**fields)
