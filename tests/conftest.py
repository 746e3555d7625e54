"""What every test may rely on, however the tests were started."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")  # tests never depend on timing


def pytest_configure() -> None:
    """A shell that starts the tests in the background leaves Ctrl-C ignored, and children would inherit that.

    `python` is the Python of the tests, also where the environment was not activated.  COLUMNS, which a shell may
    export and pytest-xdist sets, would wrap what the tests read.
    """
    os.environ.pop("COLUMNS", None)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
