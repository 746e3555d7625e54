"""The open loop against a real local server."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from scalecurve.errors import InputError, MissingExtra, RunError
from scalecurve.measurement.load_calibration import load_records, measure_load


@pytest.mark.parametrize("url", ["ftp://x/", "nonsense", "http://host:port/", "http://"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(InputError, match="not an address"):
        load_records(url, [1])
    with pytest.raises(InputError, match="positive"):
        load_records("http://127.0.0.1/", [0])


def test_without_h11_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "h11", None)
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
            if "chunked" in self.path:
                self.send_response(200)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                self.wfile.write(b"2\r\nok\r\n0\r\n\r\n")
                return
            if "until-the-end" in self.path:
                self.send_response(200)
                self.send_header("Connection", "close")
                self.end_headers()
                self.wfile.write(b"ok")
                self.close_connection = True
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


def test_an_open_loop_sends_every_intended_request(server: str) -> None:
    slow, fast = load_records(server, [100, 50], seconds=0.4)
    assert (slow.n, slow.intended_rate, slow.open_loop, slow.errors) == (20, 50, True, 0)
    assert (fast.n, fast.intended_rate) == (40, 100)
    assert fast.findings[0].code in ("generator-lateness", "generator-late")
    assert load_records(server + "missing", [50], seconds=0.2)[0].errors == 10
    assert len(measure_load(server, rates=[50, 100], seconds=0.2).records()) == 2


def test_answers_without_a_body_in_chunks_or_until_the_end_are_whole(server: str) -> None:
    for path in ("empty", "chunked", "until-the-end"):
        assert load_records(server + path, [50], seconds=0.2)[0].errors == 0, path  # nothing is waited for in vain


def test_an_address_that_does_not_answer_stops_at_once() -> None:
    with pytest.raises(RunError, match="does not answer"):
        load_records("http://127.0.0.1:1/", [1000], seconds=60)
