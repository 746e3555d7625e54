"""uvicorn's HTTP/1.1, impatient with clients that never finish saying what they want (slow loris)."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 10.0


class ImpatientProtocol(H11Protocol):  # type: ignore[misc]  # uvicorn is optional, so its classes are untyped here
    """Closes a connection whose request head has not arrived `head_seconds` after it could have begun."""

    head_seconds = HEAD_SECONDS
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._in_request():
            self._forget()
        elif self._deadline is None:
            self._expect_head()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self._in_request():
            self._forget()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        super().connection_lost(exc)

    def _in_request(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _expect_head(self) -> None:
        self._deadline = self.loop.call_later(self.head_seconds, self._close_if_headless)

    def _forget(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _close_if_headless(self) -> None:
        self._deadline = None
        if not self._in_request() and not self.transport.is_closing():
            self.transport.close()
