"""Serving the page: loopback unless told otherwise, until Ctrl-C."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from scalecurve.errors import Fault, InputError, MissingExtra
from scalecurve.explorer.application import LOOPBACK, build
from scalecurve.explorer.pool import Pool

MOST_CONNECTIONS = 900  # below the usual limit of 1024 open files


@dataclass(frozen=True, kw_only=True)
class Address:
    """Where to listen; `names` are further host names to answer to."""

    host: str = "127.0.0.1"
    port: int = 8777
    names: Sequence[str] = ()

    @property
    def is_loopback(self) -> bool:
        return self.host in LOOPBACK


def serve(address: Address, *, start: dict[str, Any], ready: Callable[[str], None]) -> None:
    """Serve until interrupted; `ready` is told the page's address once it can be opened."""
    try:
        import starlette  # noqa: F401 - the application needs it a moment later
        import uvicorn

        from scalecurve.explorer.protocol import ImpatientProtocol
    except ImportError:
        raise MissingExtra("the explorer", "web") from None
    listening = _listen(address)
    names = LOOPBACK | {name.lower() for name in (address.host, *address.names)}
    pool = Pool(size=max(1, min(2, os.cpu_count() or 1)))
    app = build(pool, start=json.dumps(start).encode(), names=names, addresses=not address.is_loopback)
    config = uvicorn.Config(
        app,
        http=ImpatientProtocol,
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=MOST_CONNECTIONS,
        backlog=512,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=2,
        h11_max_incomplete_event_size=16 * 1024,
    )
    host, port = listening.getsockname()[:2]
    ready(f"http://{f'[{host}]' if ':' in host else host}:{port}/")
    try:
        uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:
        pass  # the way to stop a server is not a failure
    finally:
        listening.close()


def _listen(address: Address) -> socket.socket:
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
    return listening
