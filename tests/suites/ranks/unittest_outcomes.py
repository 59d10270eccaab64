"""Runs unittest's tests and writes how each ended to outcomes.json in the current directory."""

import json
import sys
import unittest
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from _typeshed import OptExcInfo


class Outcomes(unittest.TextTestResult):
    """Notes how every test, and every subtest that does not pass, ended."""

    def __init__(self, *arguments: "Any", **options: "Any") -> None:
        super().__init__(*arguments, **options)
        self.outcomes: dict[str, str] = {}

    def addSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802
        super().addSuccess(test)
        self.outcomes.setdefault(test.id(), "passed")

    def addError(self, test: unittest.TestCase, err: "OptExcInfo") -> None:  # noqa: N802
        super().addError(test, err)
        self.outcomes[test.id()] = f"error: {type(err[1]).__name__}"

    def addFailure(self, test: unittest.TestCase, err: "OptExcInfo") -> None:  # noqa: N802
        super().addFailure(test, err)
        self.outcomes[test.id()] = f"failed: {type(err[1]).__name__}"

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:  # noqa: N802
        super().addSkip(test, reason)
        self.outcomes[test.id()] = f"skipped: {reason}"

    def addExpectedFailure(self, test: unittest.TestCase, err: "OptExcInfo") -> None:  # noqa: N802
        super().addExpectedFailure(test, err)
        self.outcomes[test.id()] = "failed as expected"

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802
        super().addUnexpectedSuccess(test)
        self.outcomes[test.id()] = "passed unexpectedly"

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: "OptExcInfo | None") -> None:  # noqa: N802
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.outcomes[subtest.id()] = f"failed: {type(err[1]).__name__}"
            self.outcomes[test.id()] = "failed in a subtest"


def main(names: list[str]) -> None:
    """Run the tests of the modules ``names``."""
    file = Path.cwd() / "outcomes.json"
    loader = type(json.__spec__.loader).__module__
    suite = unittest.defaultTestLoader.loadTestsFromNames(names)
    result = unittest.TextTestRunner(stream=sys.stdout, resultclass=Outcomes).run(suite)
    assert isinstance(result, Outcomes)
    file.write_text(json.dumps({"loader": loader, "outcomes": result.outcomes}, indent=1))
