"""The open loop: against a fake client always, against a real local server where httpx is installed."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

import pytest

from scalecurve.errors import InputError, MissingExtra, RunError
from scalecurve.measurement.calibration.load import load_records, measure_load


class FakeClient:
    """Answers at once; a path with `gone` is not answered, one with `missing` is a 404."""

    def __init__(self, **settings: Any) -> None:
        self.settings = settings

    async def __aenter__(self) -> FakeClient:
        return self

    async def __aexit__(self, *error: object) -> None:
        return None

    async def get(self, url: str) -> SimpleNamespace:
        if "gone" in url:
            raise OSError("connection refused")
        return SimpleNamespace(status_code=404 if "missing" in url else 200)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = {"AsyncClient": FakeClient, "Limits": dict, "Timeout": lambda *_, **__: None, "HTTPError": ValueError}
    monkeypatch.setitem(sys.modules, "httpx", SimpleNamespace(**parts))


@pytest.mark.usefixtures("fake")
def test_an_open_loop_sends_every_intended_request() -> None:
    slow, fast = load_records("http://host/", [100, 50], seconds=0.2)

    assert (slow.n, slow.intended_rate, slow.open_loop) == (10, 50, True)
    assert (fast.n, fast.intended_rate) == (20, 100)
    assert load_records("http://host/missing", [50], seconds=0.2)[0].errors == 10
    assert len(measure_load("http://host/", rates=[50, 100], seconds=0.2).records()) == 2


@pytest.mark.usefixtures("fake")
def test_an_address_that_does_not_answer_stops_at_once() -> None:
    with pytest.raises(RunError, match="does not answer: connection refused"):
        load_records("http://host/gone", [1000], seconds=60)


@pytest.mark.parametrize("url", ["ftp://x/", "nonsense", "http://host:port/", "http://"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(InputError, match="not an address"):
        load_records(url, [1])
    with pytest.raises(InputError, match="positive"):
        load_records("http://127.0.0.1/", [0])


def test_without_httpx_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(MissingExtra, match=r"scalecurve\[load\]"):
        load_records("http://host/", [1])


@pytest.fixture
def server() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if "empty" in self.path:
                self.send_response(204)
                self.end_headers()
                return
            self.send_response(404 if "missing" in self.path else 200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, format: str, *args: Any) -> None:
            return None

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listening.daemon_threads = True
    threading.Thread(target=listening.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{listening.server_address[1]}/"
    listening.shutdown()
    listening.server_close()


def test_a_real_server_also_one_that_answers_204(server: str) -> None:
    pytest.importorskip("httpx")
    records = load_records(server, [50, 100], seconds=0.4)
    assert [record.n for record in records] == [20, 40]
    assert load_records(server + "missing", [50], seconds=0.2)[0].errors == 10
    begin = time.monotonic()
    assert load_records(server + "empty", [50], seconds=0.2)[0].errors == 0
    assert time.monotonic() - begin < 8  # a 204 has no body to wait for
    with pytest.raises(RunError, match="does not answer"):
        load_records("http://127.0.0.1:1/", [1000], seconds=60)
