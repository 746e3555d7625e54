"""The real server on a real socket: many clients, slow ones, Ctrl-C, and life without the web extra."""

from __future__ import annotations

import asyncio
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

import pytest

pytest.importorskip("uvicorn", reason="the web extra is not installed")

QUESTION = (
    b"POST /api/laws HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\nConnection: close\r\n\r\n%s"
)


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[subprocess.Popen[str], int]]:
    command = [sys.executable, "-m", "scalecurve", "explore", "--no-open", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        port = int(re.search(r":(\d+)/", line)[1])  # type: ignore[index]
        _wait_until_answering(port)
        yield process, port
    finally:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


def _wait_until_answering(port: int, seconds: float = 60.0) -> None:
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        try:
            if talk(port, QUESTION % (port, 2, b"{}")).startswith(b"HTTP/1.1 200"):
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


def test_it_answers_over_a_socket(server: tuple[subprocess.Popen[str], int]) -> None:
    _, port = server
    body = talk(port, QUESTION % (port, 15, b'{"serial": 0.1}')).partition(b"\r\n\r\n")[2]
    assert json.loads(body)["answers"]["ceiling"]["value"] == 10


def test_two_hundred_clients_at_once_all_get_an_answer(server: tuple[subprocess.Popen[str], int]) -> None:
    _, port = server

    async def client(number: int) -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        body = json.dumps({"serial": number / 1000}).encode()
        writer.write(QUESTION % (port, len(body), body))
        await writer.drain()
        answer = await asyncio.wait_for(reader.read(), 120)
        writer.close()
        return int(answer.split(b" ")[1])

    async def run() -> list[int]:
        return await asyncio.gather(*(client(number) for number in range(200)))

    assert asyncio.run(run()) == [200] * 200


def test_slow_clients_do_not_keep_others_out_and_are_dropped(server: tuple[subprocess.Popen[str], int]) -> None:
    """Three hundred connections that send half a request head and then nothing."""
    _, port = server
    slow = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(300)]
    try:
        for connection in slow:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
        assert talk(port, QUESTION % (port, 2, b"{}")).startswith(b"HTTP/1.1 200")
        limit = time.monotonic() + 60
        waiting = list(slow)
        while waiting and time.monotonic() < limit:
            for connection in select.select(waiting, [], [], 5)[0]:
                assert connection.recv(1024) == b""  # closed by the server
                waiting.remove(connection)
        assert not waiting
    finally:
        for connection in slow:
            connection.close()


def test_a_head_that_never_ends_is_cut_off(server: tuple[subprocess.Popen[str], int]) -> None:
    _, port = server
    said = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"X-Long: " + b"a" * 200_000
    with suppress(ConnectionResetError, BrokenPipeError):  # it may close on us while we are still talking
        assert b" 400 " in talk(port, said).partition(b"\r\n")[0] + b" "


def test_a_port_in_use_is_one_sentence(server: tuple[subprocess.Popen[str], int]) -> None:
    _, port = server
    command = [sys.executable, "-m", "scalecurve", "explore", "--no-open", "--port", str(port)]
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
    port = int(re.search(r":(\d+)/", process.stdout.readline())[1])  # type: ignore[index]
    _wait_until_answering(port)
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
