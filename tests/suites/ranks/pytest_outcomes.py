"""A pytest plugin, ``-p pytest_outcomes``: writes how every test ended to outcomes.json in the current directory."""

import json
from pathlib import Path

import pytest


class Outcomes:
    def __init__(self) -> None:
        self.file = Path.cwd() / "outcomes.json"
        self.loader = type(json.__spec__.loader).__module__
        self.outcomes: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        subtest = getattr(report, "context", None)
        if report.failed or report.skipped or (report.when == "call" and subtest is None):
            name = report.nodeid if subtest is None else f"{report.nodeid} {subtest.msg} {dict(subtest.kwargs)}"
            self.outcomes[name] = self.ended(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if not report.passed:
            self.outcomes[f"collecting {report.nodeid}"] = self.ended(report)

    def pytest_sessionfinish(self) -> None:
        self.file.write_text(json.dumps({"loader": self.loader, "outcomes": self.outcomes}, indent=1))

    def ended(self, report: pytest.TestReport | pytest.CollectReport) -> str:
        if hasattr(report, "wasxfail"):
            return "passed unexpectedly" if report.passed else "failed as expected"
        if report.skipped and isinstance(report.longrepr, tuple):
            return f"skipped: {report.longrepr[2]}"
        return report.outcome if report.when in ("call", "collect") else f"{report.outcome} in {report.when}"


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Outcomes())
