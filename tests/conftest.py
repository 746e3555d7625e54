"""What every test may rely on, however the tests were started."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")  # tests never depend on timing


def pytest_configure(config: pytest.Config) -> None:
    """A shell that starts the tests in the background leaves Ctrl-C ignored, and children would inherit that.

    `python` is the Python of the tests, also where the environment was not activated.  COLUMNS, which a shell may
    export and pytest-xdist sets, would wrap what the tests read.
    """
    os.environ.pop("COLUMNS", None)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    config.pluginmanager.register(Bill())


class Bill:
    """What a run of the tests cost in CPU seconds, test by test; children that were waited for are in it."""

    def __init__(self) -> None:
        self.tests: Counter[str] = Counter()
        self.skipped = 0
        self.workers = 0.0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        before = sum(os.times()[:4])
        item.user_properties.append(("cpu", lambda: sum(os.times()[:4]) - before))
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, Any, Any]:
        report = yield
        report.user_properties = [
            (name, value() if callable(value) else value) for name, value in report.user_properties
        ]
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.skipped += report.skipped and not hasattr(report, "wasxfail")
        if report.when == "teardown":
            self.tests[report.nodeid] = dict(report.user_properties).get("cpu", 0.0)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        spent = sum(os.times()[: 2 if self.workers else 4])  # the children of the controller have told theirs
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["cpu"] = spent
        elif path := os.environ.get("SCALECURVE_TEST_BILL"):
            bill = {
                "cpu_minutes": round((spent + self.workers) / 60, 2),
                "tests": len(self.tests),
                "skipped": self.skipped,
                "dearest": {name: round(seconds, 2) for name, seconds in self.tests.most_common(200)},
            }
            Path(path).write_text(json.dumps(bill, indent=1) + "\n", encoding="utf-8")

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.workers += getattr(node, "workeroutput", {}).get("cpu", 0.0)
