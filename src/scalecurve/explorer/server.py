"""The server of the page: routes, and serving on loopback until Ctrl-C.  Needs the extra `web`."""

from __future__ import annotations

import asyncio
import html
import json
import os
import re
import secrets
import socket
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

from scalecurve.errors import Fault, InputError, MissingExtra
from scalecurve.explorer.guard import HEADERS, Guard
from scalecurve.explorer.pool import Pool

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route
    from uvicorn.protocols.http.h11_impl import H11Protocol
except ImportError:
    raise MissingExtra("the explorer", "web") from None

TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
MOST_CONNECTIONS = 900  # below the usual limit of 1024 open files
MOST_HEADLESS = 300  # connections whose request has not begun; one more closes the oldest, so that a new one gets in
HEAD_SECONDS = 10.0
QUESTION_NAME = re.compile(r"[a-z0-9/_.-]{1,60}")


@dataclass(frozen=True, kw_only=True)
class Address:
    """Where to listen; `names` are further host names to answer to."""

    host: str = "127.0.0.1"
    port: int = 8777
    names: Sequence[str] = ()

    @property
    def is_loopback(self) -> bool:
        return self.host in LOOPBACK


def opening(study: Path | None, regime: str | None) -> dict[str, Any]:
    """What the page opens with: nothing, or the text of a study that could be read."""
    if study is None:
        return {}
    from scalecurve.explorer.questions.data import MOST_TEXT, page_study

    shown = page_study(study, regime)
    if (size := len(shown["text"])) > MOST_TEXT:
        hint = f"the page takes up to {MOST_TEXT}; use the command line for larger studies"
        raise InputError(Fault("the study is too large for the page", value=f"{size} characters", remedy=hint))
    return {"data": shown}


def redirect(address: str) -> Path:
    """A page that only this user can read and that leads to the address; it stays until the machine clears its
    temporary files, and its token ends with the server."""
    handle, name = tempfile.mkstemp(prefix="scalecurve-", suffix=".html")  # mode 0600
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(f'<!doctype html><meta http-equiv="refresh" content="0; url={html.escape(address)}">\n')
    return Path(name)


@cache
def assets() -> dict[str, tuple[str, bytes]]:
    """Every file the server will ever send, read once: a path that is not a key does not exist."""
    from scalecurve.explorer.formulas import laws_script
    from scalecurve.render.html import stylesheet

    collected = {"/style.css": (TYPES[".css"], stylesheet().encode())}
    folders: list[tuple[str, Any]] = [("/", files("scalecurve.explorer").joinpath("assets"))]
    for prefix, folder in folders:
        for entry in folder.iterdir():
            if entry.is_dir():
                folders.append((f"{prefix}{entry.name}/", entry))
            elif (kind := TYPES.get(PurePosixPath(entry.name).suffix)) is not None:
                collected[prefix + entry.name] = (kind, entry.read_bytes())
    collected["/laws.js"] = (TYPES[".js"], laws_script().encode())
    collected["/"] = collected["/index.html"]
    return collected


def build(
    pool: Pool,
    *,
    start: bytes = b"{}",
    names: frozenset[str] = LOOPBACK,
    addresses: bool = False,
    token: str | None = None,
) -> Guard:
    """The guarded application; `start` is the JSON of what the page opens with, `token` what requests must carry."""

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        await pool.start()
        yield
        await pool.stop()

    def constant(body: bytes) -> Callable[[Request], Response]:
        return lambda _: _json_response(200, body)

    async def question(request: Request) -> Response:
        name = request.path_params["name"]
        if not QUESTION_NAME.fullmatch(name):
            return _json_response(404, b'{"error":"there is no such question"}')
        return _json_response(*await pool.ask(name, await request.body()))

    async def asset(request: Request) -> Response:
        kind, content = assets().get(request.url.path, (None, b""))
        if kind is None:
            return _json_response(404, b'{"error":"not found"}')
        return Response(content, 200, media_type=kind, headers={"cache-control": "no-cache"})

    routes = [
        Route("/api/start", constant(start)),
        Route("/api/health", constant(b'{"ok":true}')),
        Route("/api/{name:path}", question, methods=["POST"]),
        Route("/{path:path}", asset),
    ]
    return Guard(Starlette(routes=routes, lifespan=lifespan), names, addresses, token)


def _json_response(status: int, body: bytes) -> Response:
    return Response(body, status, media_type="application/json", headers={"cache-control": "no-store"})


class ImpatientProtocol(H11Protocol):  # type: ignore[misc]  # uvicorn is optional, so its classes are untyped here
    """uvicorn's HTTP/1.1 that closes a connection whose request head has not arrived `head_seconds` after it could
    have begun (slow loris)."""

    head_seconds = HEAD_SECONDS
    _deadline: asyncio.TimerHandle | None = None
    headless: ClassVar[dict[ImpatientProtocol, None]] = {}  # those that wait for their head, oldest first

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._in_request():
            self._cancel_deadline()
        elif self._deadline is None:
            self._expect_head()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self._in_request():
            self._cancel_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_deadline()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP is refused with the headers of every other answer."""
        body = b'{"error":"this is no request of HTTP/1.1"}'
        lines = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), *HEADERS.items()]
        head = b"".join(name + b": " + value + b"\r\n" for name, value in lines)
        self.transport.write(b"HTTP/1.1 400 Bad Request\r\n" + head + b"connection: close\r\n\r\n" + body)
        self.transport.close()

    def _in_request(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _expect_head(self) -> None:
        self.headless[self] = None
        if len(self.headless) > MOST_HEADLESS:
            next(iter(self.headless))._close_if_headless()
        self._deadline = self.loop.call_later(self.head_seconds, self._close_if_headless)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        self.headless.pop(self, None)

    def _close_if_headless(self) -> None:
        self._cancel_deadline()
        if not self._in_request() and not self.transport.is_closing():
            self.transport.close()


def serve(address: Address, *, start: dict[str, Any], ready: Callable[[str], None]) -> None:
    """Serve until interrupted; `ready` is called with the page's address once it can be opened."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    # asyncio switches Nagle's algorithm off only where the protocol is named; with it on, each answer waits 40 ms.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((address.host, address.port))
        listening.listen(512)
    except OSError as problem:
        listening.close()
        where = f"{address.host}:{address.port}"
        hint = "choose another with --port, or --port 0 for any free one"
        raise InputError(Fault(f"cannot listen: {problem.strerror}", where=where, remedy=hint)) from None
    names = LOOPBACK | {name.lower() for name in (address.host, *address.names)}
    pool = Pool()
    token = secrets.token_urlsafe(18)
    config = uvicorn.Config(
        build(pool, start=json.dumps(start).encode(), names=names, addresses=not address.is_loopback, token=token),
        http=ImpatientProtocol,
        ws="none",
        lifespan="on",
        log_level="error",  # a stranger's requests must not fill the terminal
        access_log=False,
        server_header=False,
        limit_concurrency=MOST_CONNECTIONS,
        backlog=512,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=2,
        h11_max_incomplete_event_size=16 * 1024,
    )
    host, port = listening.getsockname()[:2]
    ready(f"http://{f'[{host}]' if ':' in host else host}:{port}/?token={token}")
    try:
        uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:
        pass  # Ctrl-C is how a server is stopped, not a failure
    finally:
        listening.close()
