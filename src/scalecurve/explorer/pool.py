"""The computing processes: a question waits for a free one, and one that takes too long is stopped and replaced.

Questions about a reader's own data may take seconds; at most half of the processes work on them, so that sliders are
answered whatever else is asked.
"""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections import OrderedDict
from dataclasses import dataclass, field

from scalecurve.explorer import worker

COMPUTE_SECONDS = 60.0  # of the clock: enough for the slowest question on a crowded machine
WAIT_SECONDS = 20.0
START_SECONDS = 120.0  # for a process to load, on a crowded machine
CACHED_ANSWERS = 512
LARGEST_CACHED = 200_000
SLOW = "data/"  # questions about a reader's own data

Answer = tuple[int, bytes]

BUSY: Answer = (503, b'{"error":"all workers are busy; try again in a moment"}')
TOO_LONG: Answer = (503, b'{"error":"the computation took longer than one answer may; ask for less"}')
DIED: Answer = (503, b'{"error":"the computation was stopped, probably for want of memory; ask for less"}')


@dataclass
class Pool:
    """Up to `size` worker processes and the most recent answers."""

    size: int = 4
    compute_seconds: float = COMPUTE_SECONDS
    wait_seconds: float = WAIT_SECONDS
    start_seconds: float = START_SECONDS
    _free: asyncio.LifoQueue[Process] = field(default_factory=asyncio.LifoQueue)  # the last used is warm
    _loaded: set[Process] = field(default_factory=set)
    _loading: set[asyncio.Task[None]] = field(default_factory=set)
    _waiting: int = 0  # questions without a process
    _answered: int = 0  # questions so far
    _recent: OrderedDict[tuple[str, bytes], Answer] = field(default_factory=OrderedDict)
    _slow: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self._slow = asyncio.Semaphore(max(1, self.size // 2))

    async def start(self) -> None:
        """One worker now; the others when there is more to do than it can, so that the first is not slowed down."""
        self._grow()

    async def stop(self) -> None:
        for task in self._loading:
            task.cancel()
        await asyncio.gather(*self._loading, return_exceptions=True)
        for process in list(self._loaded):
            await self._end(process)

    async def ask(self, name: str, body: bytes) -> Answer:
        """The answer to a question: a recent one, or that of the next free worker."""
        key = (name, body)
        if key in self._recent:
            self._recent.move_to_end(key)
            return self._recent[key]
        if not name.startswith(SLOW):
            return await self._ask(name, body)
        try:
            await asyncio.wait_for(self._slow.acquire(), self.wait_seconds)
        except TimeoutError:
            return BUSY
        try:
            return await self._ask(name, body)
        finally:
            self._slow.release()

    async def _ask(self, name: str, body: bytes) -> Answer:
        """The answer of the next free worker."""
        process = await self._next()
        if process is None:
            return BUSY
        if process.returncode is not None:  # it died while it was idle
            await self._replace(process)
            return await self._ask(name, body)
        survivor: Process | None = None
        try:
            async with asyncio.timeout(self.compute_seconds):
                answer = await _exchange(process, name, body)
            survivor = process
        except TimeoutError:
            return TOO_LONG
        except (OSError, asyncio.IncompleteReadError):
            return DIED
        finally:
            if survivor is None:
                await asyncio.shield(self._replace(process))
            else:
                self._free.put_nowait(survivor)
        self._answered += 1
        if answer[0] == 200 and len(answer[1]) + len(body) <= LARGEST_CACHED:
            self._recent[name, body] = answer
            while len(self._recent) > CACHED_ANSWERS:
                self._recent.popitem(last=False)
        return answer

    async def _next(self) -> Process | None:
        """The next free process; None where nobody was answered for `wait_seconds`: a line that moves is waited in."""
        self._waiting += 1
        try:
            while True:
                if self._free.empty() and self._waiting > len(self._loading):
                    self._grow()
                answered, loading = self._answered, 0.0 if self._loaded else self.start_seconds
                try:
                    return await asyncio.wait_for(self._free.get(), self.wait_seconds + loading)
                except TimeoutError:
                    if answered == self._answered:
                        return None
        finally:
            self._waiting -= 1

    def _grow(self) -> None:
        """Start another process, if there may be one more.  It takes questions once it says that it has loaded; those
        that have loaded answer meanwhile."""
        if len(self._loaded) + len(self._loading) < self.size:
            task = asyncio.create_task(self._load())
            self._loading.add(task)
            task.add_done_callback(self._loading.discard)

    async def _load(self) -> None:
        command = [sys.executable, "-m", "scalecurve.explorer.worker"]
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, env=os.environ | threads)
        try:
            async with asyncio.timeout(self.start_seconds):
                await _read(process)
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await self._end(process)
            return
        self._loaded.add(process)
        self._free.put_nowait(process)

    async def _replace(self, process: Process) -> None:
        await self._end(process)
        self._grow()

    async def _end(self, process: Process) -> None:
        if process.returncode is None:
            process.kill()
            await process.wait()
        self._loaded.discard(process)


async def _exchange(process: Process, name: str, body: bytes) -> Answer:
    """Ask a worker; OSError or IncompleteReadError where it is gone."""
    if process.stdin is None:
        raise OSError("a worker without pipes")
    process.stdin.write(worker.message(name, body))
    await process.stdin.drain()
    status, content = await _read(process)
    return int(status), content


async def _read(process: Process) -> tuple[str, bytes]:
    """The next message of a worker."""
    if process.stdout is None:
        raise OSError("a worker without pipes")
    head, size = (await process.stdout.readuntil()).decode().split()
    if int(size) > worker.MOST_BYTES:
        raise OSError("the answer is too large")
    return head, await process.stdout.readexactly(int(size))
