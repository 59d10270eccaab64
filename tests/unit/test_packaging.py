"""Recipes for package managers name the version there is; workflows call targets there are."""

import re
from pathlib import Path

import pytest
import yaml

import mpiimport
from tests.conftest import ROOT

RECIPES = {
    "packaging/spack/package.py": r'version\("([\d.]+)"\)',
    "packaging/easybuild/mpiimport-0.1.0.eb": r"^version = '([\d.]+)'",
    "packaging/conda/meta.yaml": r'set version = "([\d.]+)"',
}
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


@pytest.mark.parametrize(("recipe", "pattern"), RECIPES.items())
def test_a_recipe_is_of_this_version(recipe: str, pattern: str) -> None:
    assert re.findall(pattern, (ROOT / recipe).read_text(), re.MULTILINE) == [mpiimport.__version__]


def test_the_recipe_for_spack_is_python() -> None:
    compile((ROOT / "packaging" / "spack" / "package.py").read_text(), "package.py", "exec")


@pytest.mark.parametrize("file", [*WORKFLOWS, ROOT / ".pre-commit-config.yaml"], ids=lambda file: file.name)
def test_what_runs_elsewhere_calls_targets_of_the_makefile(file: Path) -> None:
    steps = re.findall(r"\bmake (?:--[a-z-]+ )*([a-z-]+)\s*$", file.read_text(), re.MULTILINE)
    assert steps and set(steps) <= TARGETS
    assert yaml.safe_load(file.read_text())
