"""Runs a fuzz test of the launch side, and reads what it hands over."""

import base64
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT

HOOKS = ROOT / "hooks"
SMALL, FULL = 1_000, 10_000
Cases = Callable[[str, str, str], list[dict[str, Any]]]


@pytest.fixture(scope="session")
def go() -> str:
    return subprocess.run([HOOKS / "go.sh"], stdout=subprocess.PIPE, check=True, text=True).stdout.strip()


@pytest.fixture(scope="module", params=[SMALL, pytest.param(FULL, marks=pytest.mark.full)])
def cases(request: pytest.FixtureRequest, go: str, tmp_path_factory: pytest.TempPathFactory) -> Cases:
    """Returns what a target of a package hands over under a name; bytes where it hands over texts."""

    def run(package: str, target: str, name: str) -> list[dict[str, Any]]:
        directory = tmp_path_factory.mktemp("cases")
        settings = {"FUZZ_CASES": str(request.param), "FUZZ_OUTPUT": str(directory)}
        command = [go, "test", "-count=1", package, "-run", f"^{target}$"]
        done = subprocess.run(command, cwd=HOOKS, env=os.environ | settings, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-4000:]
        with (directory / name).open() as lines:
            return [json.loads(line) for line in lines]

    return run


def content(text: str) -> bytes:
    """A text that Go has handed over byte by byte."""
    return base64.b64decode(text)


def module_directory(go: str, module: str) -> Path:
    """Where Go keeps a module that the launch side needs."""
    command = [go, "list", "-m", "-f", "{{.Dir}}", module]
    return Path(subprocess.run(command, cwd=HOOKS, stdout=subprocess.PIPE, check=True, text=True).stdout.strip())
