"""A profile that the launch side accepts is valid by the schema, and PyYAML reads the same values from it."""

import json
import re
from collections.abc import Iterator
from typing import Any

import jsonschema
import yaml

from tests.conftest import ROOT
from tests.random_input.conftest import Cases, content

SCHEMA = ROOT / "mpiimport" / "profiles" / "profile.schema.json"
# Why the launch side may refuse what a schema allows: what a schema cannot see, words on which readers of YAML differ,
# and a line end at the end of a name, which Python's $ does not see.
MORE = re.compile(
    "keep one|remove target|list it under devices|make them equal|YAML anchor|character NUL|second YAML document|"
    r"plain decimal number|in quotes|without quotes|no plain word|this is not YAML|\\n\"(;| cannot be the name)"
)
# PyYAML takes no tab between a value and the end of its line.
TAB = r"found character '\\t' that cannot start any token"


class OneOfEach(yaml.SafeLoader):  # type: ignore[misc]
    """Takes no key twice, of which PyYAML by itself takes the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value if isinstance(key.value, str)]
        if len(keys) != len(set(keys)):
            raise yaml.constructor.ConstructorError(None, None, "a key stands there twice", node.start_mark)
        made: dict[Any, Any] = super().construct_mapping(node, deep)
        return made


def test_profiles_mean_the_same_to_all_readers(cases: Cases) -> None:
    schema = json.loads(SCHEMA.read_text())
    validator = jsonschema.validators.validator_for(schema)(schema)
    accepted = 0
    for case in cases("./internal/chance/randomprofile", "FuzzProfiles", "profiles"):
        text = content(case["text"])
        try:
            document = yaml.load(text, OneOfEach)
        except (yaml.YAMLError, ValueError) as exc:
            assert "refused" in case or re.search(TAB, repr(exc)), (exc, text)
            continue
        if "refused" in case:
            assert not validator.is_valid(document) or MORE.search(case["refused"]), (case["refused"], text)
            continue
        accepted += 1
        assert list(validator.iter_errors(document)) == [], text
        said = {leaf for value in case["values"] for leaf in leaves(value["value"], value["key"])}
        assert said == set(leaves(document, "")), text
    assert accepted > 100


def leaves(value: Any, place: str) -> Iterator[tuple[str, str, Any]]:
    """What stands at the ends of a document: a dotted place, a type, a value."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, f"{place}.{name}" if place else str(name))
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner, place)
    else:
        yield place, type(value).__name__, value
