"""Who may talk to the server, and how much they may send: through the real application, without a socket."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from scalecurve.explorer.guard import Guard
from scalecurve.explorer.server import assets, build

OURS = (b"host", b"127.0.0.1:8777")
JSON = (b"content-type", b"application/json")


class QuietPool:
    """Answers every question with its own name."""

    async def ask(self, name: str, body: bytes) -> tuple[int, bytes]:
        return 200, b'{"asked":"' + name.encode() + b'","bytes":' + str(len(body)).encode() + b"}"


@pytest.fixture
def app() -> Guard:
    return build(QuietPool(), start=b"{}")  # type: ignore[arg-type]


def call(
    app: Guard, path: str, *headers: tuple[bytes, bytes], method: str = "GET", body: bytes = b""
) -> tuple[int, dict[str, str], bytes]:
    """One request through ASGI."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b"",
        "headers": list(headers), "http_version": "1.1", "scheme": "http", "server": ("127.0.0.1", 8777),
        "root_path": "", "asgi": {"version": "3.0"}, "client": ("127.0.0.1", 5),
    }  # fmt: skip
    asyncio.run(app(scope, receive, send))
    headers_back = {name.decode().lower(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], headers_back, b"".join(part.get("body", b"") for part in sent[1:])


@pytest.mark.parametrize("host", [b"127.0.0.1:8777", b"localhost:8777", b"LOCALHOST:8777", b"[::1]:8777", b"localhost"])
def test_own_names_are_answered(app: Guard, host: bytes) -> None:
    assert call(app, "/", (b"host", host))[0] == 200


@pytest.mark.parametrize(
    "host",
    [
        b"evil.example",
        b"evil.example:8777",
        b"127.0.0.1.evil.example",
        b"192.168.0.5:8777",
        b"",
        b"[::1",
        b"0",
        b"x@localhost",
        b"localhost:99999999",
    ],
)
def test_foreign_hosts_are_refused(app: Guard, host: bytes) -> None:
    assert call(app, "/", (b"host", host))[0] == 421


def test_missing_or_doubled_host_is_refused(app: Guard) -> None:
    assert call(app, "/")[0] == 421
    assert call(app, "/", OURS, OURS)[0] == 421


@pytest.mark.parametrize(
    "origin", [b"http://evil.example", b"null", b"http://127.0.0.1:9999", b"file://", b"http://localhost:8777"]
)
def test_foreign_origins_are_refused(app: Guard, origin: bytes) -> None:
    assert call(app, "/api/training/choices", OURS, JSON, (b"origin", origin), method="POST")[0] == 403


def test_a_malformed_origin_is_a_bad_request(app: Guard) -> None:
    status, headers, _ = call(app, "/api/training/choices", OURS, JSON, (b"origin", b"http://["), method="POST")
    assert status == 400
    assert headers["x-content-type-options"] == "nosniff"


def test_a_name_that_is_no_question_never_reaches_a_worker(app: Guard) -> None:
    for name in ("a" * 5000, "laws%0aevil", "LAWS"):
        assert call(app, f"/api/{name}", OURS, JSON, method="POST", body=b"{}")[0] == 404


def test_own_origin_is_answered(app: Guard) -> None:
    own = (b"origin", b"http://127.0.0.1:8777")
    assert call(app, "/api/training/choices", OURS, JSON, own, method="POST", body=b"{}")[0] == 200


@pytest.mark.parametrize("kind", [b"text/plain", b"application/x-www-form-urlencoded", b"multipart/form-data"])
def test_questions_other_sites_could_send_are_refused(app: Guard, kind: bytes) -> None:
    assert call(app, "/api/training/choices", OURS, (b"content-type", kind), method="POST", body=b"{}")[0] == 415


def test_only_reading_and_asking_methods(app: Guard) -> None:
    for method in ("PUT", "DELETE", "OPTIONS", "TRACE"):
        assert call(app, "/", OURS, method=method)[0] == 405


def test_a_declared_body_that_is_too_large_is_refused(app: Guard) -> None:
    size = (b"content-length", b"999999999")
    assert call(app, "/api/training/choices", OURS, JSON, size, method="POST")[0] == 413


def test_a_length_in_other_digits_is_refused(app: Guard) -> None:
    length = (b"content-length", "²".encode("latin-1"))
    assert call(app, "/api/training/choices", OURS, JSON, length, method="POST")[0] == 413


def test_a_websocket_is_closed(app: Guard) -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(app({"type": "websocket", "path": "/api/training/choices", "headers": [OURS]}, None, send))
    assert sent == [{"type": "websocket.close", "code": 1008}]


def test_an_undeclared_body_that_is_too_large_is_refused(app: Guard) -> None:
    assert call(app, "/api/training/choices", OURS, JSON, method="POST", body=b" " * (4 * 1024 * 1024 + 1))[0] == 413


def test_a_body_that_never_comes_is_given_up() -> None:
    async def never() -> Any:
        await asyncio.sleep(60)

    async def run() -> list[Any]:
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {"type": "http", "method": "POST", "path": "/", "headers": [OURS, JSON]}
        guard = Guard(None, frozenset({"127.0.0.1"}), body_seconds=0.01)
        await guard(scope, never, send)
        return sent

    assert asyncio.run(run())[0]["status"] == 408


@pytest.mark.parametrize(
    "path",
    [
        "/../pyproject.toml",
        "/..%2f..%2fapi.py",
        "/server.py",
        "/assets/../server.py",
        "//etc/passwd",
        "/views/",
        "/.git/config",
    ],
)
def test_only_own_assets_exist(app: Guard, path: str) -> None:
    status, _, body = call(app, path, OURS)
    assert status == 404
    assert body == b'{"error":"not found"}'


def test_every_asset_is_served_with_its_type_and_a_strict_policy(app: Guard) -> None:
    assert len(assets()) > 12
    for path, (kind, content) in assets().items():
        status, headers, body = call(app, path, OURS)
        assert (status, headers["content-type"].partition(";")[0], body) == (200, kind.partition(";")[0], content)
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"


def test_other_addresses_only_when_listening_beyond_loopback() -> None:
    open_app = build(QuietPool(), names=frozenset({"box.lan"}), addresses=True)  # type: ignore[arg-type]
    assert call(open_app, "/", (b"host", b"192.168.0.5:8777"))[0] == 200
    assert call(open_app, "/", (b"host", b"box.lan:8777"))[0] == 200
    assert call(open_app, "/", (b"host", b"evil.example"))[0] == 421


def test_two_explorers_in_one_browser_keep_their_own_cookies() -> None:
    """A browser sends the cookies of a host to all its ports, so the names must differ."""
    apps = [build(QuietPool(), start=b"{}", token=token) for token in ("one", "two")]  # type: ignore[arg-type]
    assert apps[0].cookie != apps[1].cookie
    jar = "; ".join(f"{app.cookie}={app.token}" for app in apps).encode()
    for app in apps:
        assert call(app, "/api/start", (b"host", b"127.0.0.1"), (b"cookie", jar))[0] == 200
    assert call(apps[0], "/api/start", (b"host", b"127.0.0.1"), (b"cookie", b"scalecurve=one"))[0] == 401
