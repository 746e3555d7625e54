"""Which requests the server accepts, and how large they may be.

A page of another site could ask this server in the reader's name (DNS rebinding, cross-site requests).  So the Host
must be one of this server's names, an Origin must equal it, and a question must be JSON, which another site cannot send
without permission.  Other users of this machine can reach the port too: every request carries the token that was
printed with the address, in the query the first time and then in a cookie.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

MOST_BODY = 4 * 1024 * 1024
BODY_SECONDS = 10.0
TOO_LARGE = 413
BODY_HEAD = (("content-type", ""), ("content-length", "0"))
HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(?::\d{1,5})?", re.IGNORECASE)  # no user, no path

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


REFUSAL = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>Scalecurve explorer</title>'
    "<h1>This page needs its link</h1><p>The explorer says: {message}.</p></html>"
)


class Refuse(Exception):
    """A request is refused with an HTTP status and a sentence."""

    def __init__(self, status: int, message: str) -> None:
        self.status, self.message = status, message


def _by_name(pairs: list[tuple[bytes, bytes]]) -> dict[str, list[str]]:
    """The values of every header."""
    headers: dict[str, list[str]] = {}
    for name, value in pairs:
        headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return headers


def _check_origin(text: str, host: str) -> None:
    """Raises Refuse for a page of another site."""
    try:
        origin = urlsplit(text)
    except ValueError:
        raise Refuse(400, "the Origin is no address") from None
    if origin.scheme not in ("http", "https") or origin.netloc.lower() != host.lower():
        raise Refuse(403, "requests from other sites are refused")


@dataclass(frozen=True)
class Guard:
    """An ASGI layer around the application; `names` are the host names the server answers to."""

    app: Any
    names: frozenset[str]
    addresses: bool = False  # whether any literal IP address is accepted as Host (when listening beyond loopback)
    token: str | None = None  # what every request must carry; None asks for nothing
    most_body: int = MOST_BODY
    body_seconds: float = BODY_SECONDS

    @property
    def cookie(self) -> str:
        """The name of the cookie: a browser shares cookies among ports, and another explorer keeps its own."""
        return f"scalecurve-{hashlib.sha256((self.token or '').encode()).hexdigest()[:12]}"

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # no question comes over a websocket
            await send({"type": "websocket.close", "code": 1008})
            return
        try:
            async with asyncio.timeout(self.body_seconds):
                body = await self._question(scope, receive)
        except (Refuse, TimeoutError) as problem:
            refusal = problem if isinstance(problem, Refuse) else Refuse(408, "the question did not arrive in time")
            kind, body = b"application/json", b'{"error":"' + refusal.message.encode() + b'"}'
            if scope["method"] == "GET" and scope["path"] == "/":  # someone looks at it
                kind, body = b"text/html; charset=utf-8", REFUSAL.format(message=refusal.message).encode()
            headers = [(b"content-type", kind), (b"connection", b"close"), *HEADERS.items()]
            await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
            await send({"type": "http.response.body", "body": body})
            return
        cookies = []
        if self.token is not None and scope["path"] == "/":
            setting = f"{self.cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict"
            cookies.append((b"set-cookie", setting.encode()))
        parts = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def replay() -> Any:
            """The body that was read, once; then what the connection says (its end)."""
            return next(parts, None) or await receive()

        async def send_guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", []), *HEADERS.items(), *cookies]}
            await send(message)

        await self.app(scope, replay, send_guarded)

    def _check_head(self, scope: Any) -> bool:
        """Whether a body follows; raises Refuse for a request that this server does not accept."""
        headers = _by_name(scope["headers"])
        hosts = headers.get("host", [])
        if len(hosts) != 1 or not self._is_own_host(hosts[0]):
            raise Refuse(421, "this server answers only to its own name; open the address it printed")
        for origin in headers.get("origin", []):
            _check_origin(origin, hosts[0])
        if self.token is not None and not self._has_token(scope["query_string"], headers.get("cookie", [])):
            raise Refuse(401, "open the address that scalecurve explore printed: it carries this session's token")
        if scope["method"] not in ("GET", "HEAD", "POST"):
            raise Refuse(405, "only GET, HEAD and POST")
        if scope["method"] == "POST":
            kind, declared = (headers.get(name, [usual])[0] for name, usual in BODY_HEAD)
            if kind.partition(";")[0].strip().lower() != "application/json":
                raise Refuse(415, "questions are sent as application/json")
            if not (declared.isascii() and declared.isdigit()) or int(declared) > self.most_body:
                raise Refuse(TOO_LARGE, f"at most {self.most_body} bytes")
        return bool(scope["method"] == "POST")

    def _has_token(self, query: bytes, cookies: list[str]) -> bool:
        offered = parse_qs(query.decode("latin-1")).get("token", [])
        pairs = [pair.strip().partition("=") for header in cookies for pair in header.split(";")]
        offered += [value for name, _, value in pairs if name == self.cookie]
        return any(hmac.compare_digest(one.encode(), (self.token or "").encode()) for one in offered)

    def _is_own_host(self, host: str) -> bool:
        match = HOST.fullmatch(host)
        if match is None:
            return False
        name = match[1].strip("[]").lower().rstrip(".")
        if name in self.names:
            return True
        with suppress(ValueError):  # a foreign name
            ipaddress.ip_address(name)
            return self.addresses
        return False

    async def _question(self, scope: Any, receive: Any) -> bytes:
        """The body of a request that is accepted; raises Refuse for any other, once its body was read.

        A connection that is closed while its client still sends is reset, and the client never sees the refusal.
        """
        try:
            has_body = self._check_head(scope)
        except Refuse:
            if not any(name.lower() == b"expect" for name, _ in scope["headers"]):  # this client asks before it sends
                with suppress(TimeoutError):
                    async with asyncio.timeout(self.body_seconds / 2):
                        await self._read_body(receive, 0)
            raise
        if not has_body:
            return b""
        body = await self._read_body(receive, self.most_body)
        if body is None:
            raise Refuse(TOO_LARGE, f"at most {self.most_body} bytes")
        return body

    async def _read_body(self, receive: Any, most: int) -> bytes | None:
        """A body to its end; None where it has more than `most` bytes, of which none are kept."""
        body = bytearray()
        fits = True
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return b""
            if fits:
                body += message.get("body", b"")
                fits = len(body) <= most
            if not message.get("more_body"):
                return bytes(body) if fits else None
