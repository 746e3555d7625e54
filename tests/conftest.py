"""What every test may rely on, however the tests were started."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """A shell that starts the tests in the background leaves Ctrl-C ignored, and children would inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
