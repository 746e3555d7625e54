"""The computing processes: real ones, killed when they take too long."""

from __future__ import annotations

import asyncio
import json

from scalecurve.explorer.pool import DIED, TOO_LONG, Pool


def test_a_question_is_answered_and_remembered() -> None:
    async def run() -> None:
        pool = Pool(size=1)
        await pool.start()
        try:
            first = await pool.ask("laws", b"{}")
            again = await pool.ask("laws", b"{}")
            assert first[0] == 200
            assert first is again
        finally:
            await pool.stop()

    asyncio.run(run())


def test_a_question_that_takes_too_long_is_stopped_and_the_next_is_answered() -> None:
    async def run() -> None:
        pool = Pool(size=1, compute_seconds=0.0)
        await pool.start()
        try:
            assert await pool.ask("laws", b"{}") == TOO_LONG
            pool.compute_seconds = 60.0
            assert (await pool.ask("laws", b"{}"))[0] == 200
        finally:
            await pool.stop()

    asyncio.run(run())


def test_a_worker_that_dies_is_replaced() -> None:
    async def run() -> None:
        pool = Pool(size=1)
        await pool.start()
        try:
            for process in list(pool._all):
                process.kill()
                await process.wait()
            status, body = await pool.ask("laws", b"{}")
            assert status == 200 or (status, body) == DIED
            status, body = await pool.ask("laws", b'{"serial": 0.2}')
            assert status == 200
            assert json.loads(body)["answers"]["ceiling"]["value"] == 5
        finally:
            await pool.stop()

    asyncio.run(run())
