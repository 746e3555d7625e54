"""The real server on a real socket: many clients, slow ones, Ctrl-C, and life without the web extra."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from scalecurve.explorer.worker import answer
from scalecurve.study import Study
from scalecurve.study.file import save

pytest.importorskip("uvicorn", reason="the web extra is not installed")
from scalecurve.explorer.server import opening, redirect  # after the check: it needs the extra


class Listening(NamedTuple):
    """Where a server answers, and the token it printed."""

    port: int
    token: str

    def question(self, body: bytes) -> bytes:
        head = (
            f"POST /api/training/choices?token={self.token} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        return head.encode() + body


def listening(line: str) -> Listening:
    match = re.search(r":(\d+)/\?token=(\S+)", line)
    assert match is not None, line
    return Listening(int(match[1]), match[2])


@pytest.fixture(scope="module")
def server() -> Iterator[Listening]:
    command = [sys.executable, "-m", "scalecurve", "explore", "--no-open", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        where = listening(process.stdout.readline())
        _wait_until_answering(where)
        yield where
    finally:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


def _wait_until_answering(where: Listening, seconds: float = 60.0) -> None:
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        try:
            if talk(where.port, where.question(b"{}")).startswith(b"HTTP/1.1 200"):
                return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError("the server never answered")


def talk(port: int, said: bytes, seconds: float = 60.0) -> bytes:
    """Say something and read until the server closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as connection:
        connection.sendall(said)
        parts = []
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


def test_it_answers_over_a_socket(server: Listening) -> None:
    body = talk(server.port, server.question(b"{}")).partition(b"\r\n\r\n")[2]
    assert json.loads(body)["models"]


def test_a_large_body_that_is_refused_still_gets_its_answer(server: Listening) -> None:
    body = b" " * (16 * 1024 * 1024)  # a connection closed before its end would be reset, without an answer
    assert talk(server.port, server.question(body)).startswith(b"HTTP/1.1 413 ")
    assert talk(server.port, server.question(body).replace(b"application/json", b"text/plain")).startswith(
        b"HTTP/1.1 415 "
    )
    chunked = server.question(body).replace(f"Content-Length: {len(body)}".encode(), b"Transfer-Encoding: chunked")
    head, _, rest = chunked.partition(b"\r\n\r\n")
    said = head + b"\r\n\r\n" + f"{len(rest):x}".encode() + b"\r\n" + rest + b"\r\n0\r\n\r\n"
    assert talk(server.port, said).startswith(b"HTTP/1.1 413 ")
    asking = server.question(body).replace(b"Connection: close", b"Expect: 100-continue").partition(b"\r\n\r\n")[0]
    assert talk(server.port, asking + b"\r\n\r\n").startswith(b"HTTP/1.1 413 ")


def test_without_the_token_nothing_is_told(server: Listening) -> None:
    """Other users of a login node can reach the port: they get neither the page nor an answer."""
    stranger = Listening(server.port, "guess")
    assert talk(server.port, stranger.question(b"{}")).startswith(b"HTTP/1.1 401")
    page = b"GET /%s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    refusal = talk(server.port, page % b"")
    assert refusal.startswith(b"HTTP/1.1 401")
    assert b"<h1>This page needs its link</h1>" in refusal  # a person reads it
    assert talk(server.port, page % b"?token=").startswith(b"HTTP/1.1 401")
    opened = talk(server.port, page % f"?token={server.token}".encode())
    assert opened.startswith(b"HTTP/1.1 200")
    assert b"httponly; samesite=strict" in opened.lower()


def test_two_hundred_clients_at_once_all_get_an_answer(server: Listening) -> None:

    async def client(number: int) -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        body = b"{}" + b" " * number
        writer.write(server.question(body))
        await writer.drain()
        answer = await asyncio.wait_for(reader.read(), 120)
        writer.close()
        return int(answer.split(b" ")[1])

    async def run() -> list[int]:
        return await asyncio.gather(*(client(number) for number in range(200)))

    assert asyncio.run(run()) == [200] * 200


def test_slow_clients_do_not_keep_others_out_and_are_dropped(server: Listening) -> None:
    """Nine hundred connections, more than are served at once, that send half a request head and then nothing."""
    slow = [socket.create_connection(("127.0.0.1", server.port), timeout=60) for _ in range(905)]
    try:
        for connection in slow:
            with suppress(ConnectionError):  # the oldest made way
                connection.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
        assert talk(server.port, server.question(b"{}")).startswith(b"HTTP/1.1 200")
        limit = time.monotonic() + 60
        waiting = list(slow)
        while waiting and time.monotonic() < limit:
            for connection in select.select(waiting, [], [], 5)[0]:
                with suppress(ConnectionError):
                    assert connection.recv(1024) == b""  # closed by the server
                waiting.remove(connection)
        assert not waiting
    finally:
        for connection in slow:
            connection.close()


def test_a_head_that_never_ends_is_cut_off(server: Listening) -> None:
    said = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"X-Long: " + b"a" * 200_000
    with suppress(ConnectionResetError, BrokenPipeError):  # it may close on us while we are still talking
        assert b" 400 " in talk(server.port, said).partition(b"\r\n")[0] + b" "


def test_what_is_no_http_gets_the_headers_of_every_answer(server: Listening) -> None:
    answer = talk(server.port, b"\x16\x03\x01\x02\x00\x01\x00\x01\r\n\r\n").lower()
    assert answer.startswith(b"http/1.1 400 ")
    assert b"content-security-policy: default-src 'none'" in answer
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]


@pytest.mark.parametrize("kind", ["gzip", "windows-1252", "utf-16", "study"])
def test_whatever_the_command_line_reads_opens_the_page(tmp_path: Path, kind: str) -> None:
    table = "k,seconds,h\u00f4te\n1,100,a\n2,51,b\u00e9\n4,26,c\n"
    path = tmp_path / {"gzip": "runs.csv.gz", "study": "runs.json"}.get(kind, "runs.csv")
    if kind == "gzip":
        path.write_bytes(gzip.compress(table.encode()))
    elif kind == "study":
        save(Study.from_samples({1: [100.0], 2: [51.0], 4: [26.0]}, regime="strong"), path)
    else:
        path.write_text(table, encoding=kind)
    opened = opening(path, None if kind == "study" else "strong")
    status, answered = answer("data/table", json.dumps(opened["data"]).encode())
    assert (status, "26" in answered.decode()) == (200, True)


def test_a_port_in_use_is_one_sentence(server: Listening) -> None:
    command = [sys.executable, "-m", "scalecurve", "explore", "--no-open", "--port", str(server.port)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 2
    assert "--port" in result.stderr
    assert "Traceback" not in result.stderr


def test_ctrl_c_stops_it_and_its_workers() -> None:
    command = [sys.executable, "-m", "scalecurve", "explore", "--no-open", "--port", "0"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    assert process.stdout is not None
    _wait_until_answering(listening(process.stdout.readline()))
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the whole foreground group
    assert process.wait(timeout=30) == 0
    rest = process.stdout.read()
    process.stdout.close()
    assert "Traceback" not in rest
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)  # nobody of the group is left


def test_without_the_web_extra_one_sentence_says_what_to_install(tmp_path: object) -> None:
    """Uvicorn and starlette made impossible to import, as when the extra is not installed."""
    code = (
        "import sys; sys.modules['uvicorn'] = sys.modules['starlette'] = None\n"
        "from scalecurve.cli.main import run; sys.exit(run(['explore', '--no-open', '--port', '0']))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 2
    assert "pip install 'scalecurve[web]'" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_the_file_that_leads_to_the_page_is_read_by_its_owner_only() -> None:
    path = redirect("http://127.0.0.1:8777/?token=secret")
    try:
        assert path.stat().st_mode & 0o077 == 0
        assert "token=secret" in path.read_text()
    finally:
        path.unlink()
