"""``mpiimport profile new``: a profile to begin with, in which every key of the format stands as a comment."""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..complaint import Complaint
from ..planner import plan

INDENT = "  "
HEAD = """\
# Take the leading # from what this machine needs; `mpiimport profile check {name}` says whether it is right.
schema_version: 1
name: {name}
description: In one sentence, what this profile is for.
"""
IDENTITY = ("schema_version", "name", "description", "extends")


def add_parser(kinds: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = kinds.add_parser("new", help="write a commented profile to begin with")
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("--extends", metavar="PROFILE[,...]", help="what the new one adds to")
    parser.add_argument(
        "--directory", type=Path, metavar="DIR", help="where to (default: the last of `mpiimport-plan directories`)"
    )
    parser.set_defaults(run=lambda given, _: new(given.name, given.extends, given.directory or own_directory()))


def own_directory() -> Path:
    """The directory of a person's own profiles, where the launch side looks. Raises Complaint where there is none."""
    _shipped, _site, *own = plan("directories").splitlines()
    if not own:
        raise Complaint("HOME names no directory for profiles of yours; name one with --directory")
    return Path(own[0])


def new(name: str, extends: str | None, directory: Path) -> int:
    """Write the profile ``name`` and print its path. Raises Complaint, with no file left, where it would not be one."""
    path = directory / f"{name}.yaml"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with path.open("x") as stream:
            stream.write(starter(name, extends))
    except FileExistsError:
        raise Complaint(f"{path} exists: choose another name, or edit it") from None
    except OSError as exc:
        raise Complaint(f"cannot write {path}: {exc.strerror}; name a directory with --directory") from None
    try:
        plan("check", str(path))
    except Complaint:
        path.unlink()
        raise
    print(path)
    return 0


def starter(name: str, extends: str | None) -> str:
    """The text of the profile: what is required, and the sections of the JSON Schema as comments."""
    schema = json.loads(plan("schema"))
    lines = list(_keys({key: value for key, value in schema["properties"].items() if key not in IDENTITY}, ""))
    bases = f"[{', '.join(extends.split(','))}]" if extends and "," in extends else extends
    base = f"extends: {bases}\n" if bases else "#extends: PROFILE\n"
    return HEAD.format(name=name) + base + "".join(f"#{line}\n" if line else "\n" for line in lines)


def _keys(properties: dict[str, Any], indent: str) -> Iterator[str]:
    for key, schema in properties.items():
        if not indent:
            yield ""
        yield from _key(key, schema, indent)


def _key(key: str, schema: dict[str, Any], indent: str) -> Iterator[str]:
    yield f"{indent}{key}:{_comment(schema)}"
    if "properties" in schema:
        yield from _keys(schema["properties"], indent + INDENT)
    elif schema["type"] == "object":
        yield from _key("NAME", schema["additionalProperties"], indent + INDENT)
    elif schema["type"] == "array":
        yield from _entry(schema["items"], indent + INDENT)


def _entry(item: dict[str, Any], indent: str) -> Iterator[str]:
    """An entry of a list, a mapping's first key beside the hyphen."""
    if "properties" not in item:
        yield f"{indent}-{_comment(item)}"
        return
    mark = "- "
    for key in sorted(item["properties"], key=lambda key: key not in item.get("required", ())):
        yield f"{indent}{mark}{key}:{_comment(item['properties'][key])}"
        mark = INDENT


def _comment(schema: dict[str, Any]) -> str:
    choices = f" One of: {', '.join(schema['enum'])}." if "enum" in schema else ""
    variables = " ${NAME} is a variable." if "x-variables" in schema else ""
    return f"  # {schema['description']}{choices}{variables}"
