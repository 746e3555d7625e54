"""The routes: the page's own files, and one door to the questions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from scalecurve.explorer.guard import Guard
from scalecurve.explorer.pool import Pool

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    Handler = Callable[[Request], Awaitable[Response]]

TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


@cache
def assets() -> dict[str, tuple[str, bytes]]:
    """Every file the server will ever send, read once: a path that is not a key does not exist."""
    found: dict[str, tuple[str, bytes]] = {}

    def collect(folder: Any, prefix: str) -> None:
        for entry in folder.iterdir():
            if entry.is_dir():
                collect(entry, f"{prefix}{entry.name}/")
            elif (kind := TYPES.get(PurePosixPath(entry.name).suffix)) is not None:
                found[prefix + entry.name] = (kind, entry.read_bytes())

    collect(files("scalecurve.explorer").joinpath("assets"), "/")
    found["/"] = found["/index.html"]
    return found


def build(pool: Pool, *, start: bytes = b"{}", names: frozenset[str] = LOOPBACK, addresses: bool = False) -> Guard:
    """The guarded application; `start` is the JSON of what the page opens with."""
    from starlette.applications import Starlette
    from starlette.routing import Route

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        await pool.start()
        yield
        await pool.stop()

    routes = [
        Route("/api/start", _always(start)),
        Route("/api/health", _always(b'{"ok":true}')),
        Route("/api/openapi.json", _description(pool)),
        Route("/api/{name:path}", _question(pool), methods=["POST"]),
        Route("/{path:path}", _asset),
    ]
    return Guard(Starlette(routes=routes, lifespan=lifespan), names, addresses)


def _always(body: bytes) -> Handler:
    async def handler(_: Request) -> Response:
        return _answered(200, body)

    return handler


def _question(pool: Pool) -> Handler:
    async def handler(request: Request) -> Response:
        return _answered(*await pool.ask(request.path_params["name"], await request.body()))

    return handler


def _description(pool: Pool) -> Handler:
    async def handler(_: Request) -> Response:
        return _answered(*await pool.ask("openapi", b"{}"))

    return handler


async def _asset(request: Request) -> Response:
    from starlette.responses import Response as NewResponse

    found = assets().get(request.url.path)
    if found is None:
        return _answered(404, b'{"error":"not found"}')
    return NewResponse(found[1], 200, media_type=found[0], headers={"cache-control": "no-cache"})


def _answered(status: int, body: bytes) -> Response:
    from starlette.responses import Response as NewResponse

    return NewResponse(body, status, media_type="application/json", headers={"cache-control": "no-store"})
