"""Every fuzz test of the launch side holds on 10,000 cases; at each run of its tests it tries 200."""

import os
import subprocess

import pytest

from tests.random_input.conftest import FULL, HOOKS


@pytest.mark.full
def test_every_fuzz_test_holds_on_ten_thousand_cases(go: str) -> None:
    command = [go, "test", "-count=1", "-timeout=60m", "-run=^Fuzz", "./..."]
    settings = os.environ | {"FUZZ_CASES": str(FULL)}
    done = subprocess.run(command, cwd=HOOKS, env=settings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout[-6000:]
