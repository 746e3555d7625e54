"""The computing processes: a question waits for a free one, and one that takes too long is stopped and replaced."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections import OrderedDict
from dataclasses import dataclass, field

from scalecurve.explorer import frames

COMPUTE_SECONDS = 20.0
WAIT_SECONDS = 20.0
CACHED_ANSWERS = 512
LARGEST_CACHED = 200_000

Answer = tuple[int, bytes]

BUSY: Answer = (503, b'{"error":"all workers are busy; try again in a moment"}')
TOO_LONG: Answer = (503, b'{"error":"the computation took longer than one answer may; ask for less"}')
DIED: Answer = (503, b'{"error":"the computation was stopped, probably for want of memory; ask for less"}')


@dataclass
class Pool:
    """`size` workers and the most recent answers."""

    size: int = 2
    compute_seconds: float = COMPUTE_SECONDS
    wait_seconds: float = WAIT_SECONDS
    _free: asyncio.Queue[Process | None] = field(default_factory=asyncio.Queue)
    _all: set[Process] = field(default_factory=set)
    _known: OrderedDict[tuple[str, bytes], Answer] = field(default_factory=OrderedDict)

    async def start(self) -> None:
        """One worker now; the others when there is more to do than it can, so that the first is not slowed down."""
        self._free.put_nowait(await self._spawn())
        for _ in range(self.size - 1):
            self._free.put_nowait(None)

    async def stop(self) -> None:
        for process in list(self._all):
            await self._end(process)

    async def ask(self, name: str, body: bytes) -> Answer:
        key = (name, body)
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key]
        try:
            process = await asyncio.wait_for(self._free.get(), self.wait_seconds)
        except TimeoutError:
            return BUSY
        answer = await self._ask_one(process, name, body)
        self._remember(key, answer)
        return answer

    async def _ask_one(self, process: Process | None, name: str, body: bytes) -> Answer:
        """Ask and give the worker back, or a place for a new one when it did not survive."""
        worker = process if process is not None and process.returncode is None else await self._spawn()
        kept: Process | None = None
        try:
            answer = await asyncio.wait_for(_exchange(worker, name, body), self.compute_seconds)
            kept = worker
            return answer
        except TimeoutError:
            return TOO_LONG
        except (OSError, asyncio.IncompleteReadError):
            return DIED
        finally:
            if kept is None:
                await asyncio.shield(self._end(worker))
            self._free.put_nowait(kept)

    def _remember(self, key: tuple[str, bytes], answer: Answer) -> None:
        if answer[0] != 200 or len(answer[1]) + len(key[1]) > LARGEST_CACHED:
            return
        self._known[key] = answer
        while len(self._known) > CACHED_ANSWERS:
            self._known.popitem(last=False)

    async def _spawn(self) -> Process:
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "scalecurve.explorer.worker",
            stdin=PIPE,
            stdout=PIPE,
            env=os.environ | threads,
        )
        self._all.add(process)
        return process

    async def _end(self, process: Process) -> None:
        if process.returncode is None:
            process.kill()
            await process.wait()
        self._all.discard(process)


async def _exchange(process: Process, name: str, body: bytes) -> Answer:
    if process.stdin is None or process.stdout is None:
        raise OSError("a worker without pipes")
    process.stdin.write(frames.frame(name, body))
    await process.stdin.drain()
    size = frames.length(await process.stdout.readexactly(4))
    if size > frames.MOST_BYTES:
        raise OSError("the answer is too large")
    status, content = frames.split(await process.stdout.readexactly(size))
    return int(status), content
