"""Who may talk to the server, and how much they may send.

A page from elsewhere could otherwise ask this server in the reader's name (DNS rebinding, cross-site requests): so the
Host must be one of ours, an Origin must be too, and a question must be JSON, which another site cannot send unasked.
"""

from __future__ import annotations

import asyncio
import ipaddress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

MOST_BODY = 4 * 1024 * 1024
BODY_SECONDS = 10.0

HEADERS = {
    b"content-security-policy": (
        b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; "
        b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"x-frame-options": b"DENY",
}


@dataclass(frozen=True)
class Guard:
    """An ASGI layer around the application; `names` are the host names the server answers to."""

    app: Any
    names: frozenset[str]
    addresses: bool = False  # whether any literal IP address is accepted as Host (when told to listen beyond loopback)
    most_body: int = MOST_BODY
    body_seconds: float = BODY_SECONDS

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        body = b""
        if refusal is None and scope["method"] == "POST":
            body, refusal = await self._body(scope, receive)
        if refusal is not None:
            await _refuse(send, *refusal)
            return
        await self.app(scope, _replay(body, receive), _with_headers(send))

    def _refusal(self, scope: Any) -> tuple[int, str] | None:
        headers = _headers(scope)
        if len(headers.get("host", [])) != 1 or not self._ours(headers["host"][0]):
            return 421, "this server answers only to its own name; open the address it printed"
        origins = headers.get("origin", [])
        if any(not self._our_origin(origin, headers["host"][0]) for origin in origins):
            return 403, "requests from other sites are refused"
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return 405, "only GET, HEAD and POST"
        if scope["method"] == "POST" and not _is_json(headers):
            return 415, "questions are sent as application/json"
        return None

    def _ours(self, host: str) -> bool:
        name = _host_name(host)
        return name in self.names or (self.addresses and _is_address(name))

    def _our_origin(self, origin: str, host: str) -> bool:
        parts = urlsplit(origin)
        return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()

    async def _body(self, scope: Any, receive: Any) -> tuple[bytes, tuple[int, str] | None]:
        too_much = (413, f"at most {self.most_body} bytes")
        declared = _headers(scope).get("content-length", ["0"])[0]
        if not declared.isdigit() or int(declared) > self.most_body:
            return b"", too_much
        try:
            body = await asyncio.wait_for(self._read(receive), self.body_seconds)
        except TimeoutError:
            return b"", (408, "the question did not arrive in time")
        return (body, None) if body is not None else (b"", too_much)

    async def _read(self, receive: Any) -> bytes | None:
        parts: list[bytes] = []
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return b""
            parts.append(message.get("body", b""))
            if sum(map(len, parts)) > self.most_body:
                return None
            if not message.get("more_body"):
                return b"".join(parts)


def _headers(scope: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return found


def _is_json(headers: dict[str, list[str]]) -> bool:
    return headers.get("content-type", [""])[0].partition(";")[0].strip().lower() == "application/json"


def _host_name(host: str) -> str:
    try:
        return (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


async def _refuse(send: Any, status: int, message: str) -> None:
    body = b'{"error":"' + message.encode() + b'"}'
    headers = [(b"content-type", b"application/json"), (b"connection", b"close"), *HEADERS.items()]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _replay(body: bytes, receive: Any) -> Any:
    """The body that was read, once, and then whatever the connection says (its end)."""
    given = False

    async def replay() -> Any:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _with_headers(send: Any) -> Any:
    async def guarded(message: Any) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", []), *HEADERS.items()]}
        await send(message)

    return guarded
