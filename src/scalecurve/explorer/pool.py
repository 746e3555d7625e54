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

COMPUTE_SECONDS = 20.0
WAIT_SECONDS = 20.0
START_SECONDS = 60.0  # more for the first answer of a process, which must load first
CACHED_ANSWERS = 512
LARGEST_CACHED = 200_000
SLOW = "data/"  # questions about a reader's own data

Answer = tuple[int, bytes]

BUSY: Answer = (503, b'{"error":"all workers are busy; try again in a moment"}')
TOO_LONG: Answer = (503, b'{"error":"the computation took longer than one answer may; ask for less"}')
DIED: Answer = (503, b'{"error":"the computation was stopped, probably for want of memory; ask for less"}')


@dataclass
class Pool:
    """`size` worker processes and the most recent answers."""

    size: int = 4
    compute_seconds: float = COMPUTE_SECONDS
    wait_seconds: float = WAIT_SECONDS
    start_seconds: float = START_SECONDS
    _free: asyncio.Queue[Process | None] = field(default_factory=asyncio.Queue)
    _all: set[Process] = field(default_factory=set)
    _loaded: set[Process] = field(default_factory=set)
    _recent: OrderedDict[tuple[str, bytes], Answer] = field(default_factory=OrderedDict)
    _slow: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self._slow = asyncio.Semaphore(max(1, self.size // 2))

    async def start(self) -> None:
        """One worker now; the others when there is more to do than it can, so that the first is not slowed down."""
        self._free.put_nowait(await self._spawn())
        for _ in range(self.size - 1):
            self._free.put_nowait(None)

    async def stop(self) -> None:
        for process in list(self._all):
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
        key = (name, body)
        try:
            process = await asyncio.wait_for(self._free.get(), self.wait_seconds)
        except TimeoutError:
            return BUSY
        if process is None or process.returncode is not None:
            process = await self._spawn()
        allowed = self.compute_seconds + (0.0 if process in self._loaded else self.start_seconds)
        survivor: Process | None = None
        try:
            async with asyncio.timeout(allowed):
                if process.stdin is None or process.stdout is None:
                    raise OSError("a worker without pipes")
                process.stdin.write(worker.frame(name, body))
                await process.stdin.drain()
                size = worker.frame_length(await process.stdout.readexactly(4))
                if size > worker.MOST_BYTES:
                    raise OSError("the answer is too large")
                status, content = worker.split_frame(await process.stdout.readexactly(size))
            answer = int(status), content
            survivor = process
            self._loaded.add(process)
        except TimeoutError:
            return TOO_LONG
        except (OSError, asyncio.IncompleteReadError):
            return DIED
        finally:
            if survivor is None:
                await asyncio.shield(self._end(process))
            self._free.put_nowait(survivor)
        if answer[0] == 200 and len(answer[1]) + len(body) <= LARGEST_CACHED:
            self._recent[key] = answer
            while len(self._recent) > CACHED_ANSWERS:
                self._recent.popitem(last=False)
        return answer

    async def _spawn(self) -> Process:
        command = [sys.executable, "-m", "scalecurve.explorer.worker"]
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, env=os.environ | threads)
        self._all.add(process)
        return process

    async def _end(self, process: Process) -> None:
        if process.returncode is None:
            process.kill()
            await process.wait()
        self._all.discard(process)
        self._loaded.discard(process)
