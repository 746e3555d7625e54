"""The computing processes: real ones, killed when they take too long."""

from __future__ import annotations

import asyncio
import json

from scalecurve.explorer.pool import BUSY, TOO_LONG, Pool


def test_a_question_is_answered_and_remembered() -> None:
    async def run() -> None:
        pool = Pool(size=1)
        await pool.start()
        try:
            first = await pool.ask("training/choices", b"{}")
            again = await pool.ask("training/choices", b"{}")
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
            assert await pool.ask("training/choices", b"{}") == TOO_LONG
            pool.compute_seconds = 200.0
            assert (await pool.ask("training/choices", b"{}"))[0] == 200
        finally:
            await pool.stop()

    asyncio.run(run())


def test_questions_do_not_wait_for_a_worker_that_is_still_loading() -> None:
    """One after another they are all answered by the process that is warm; only a crowd starts others."""

    async def run() -> None:
        pool = Pool(size=4)
        await pool.start()
        try:
            for spaces in (1, 2, 3):
                assert (await pool.ask("training/choices", b"{}" + b" " * spaces))[0] == 200
            assert len(pool._loaded) == 1
            crowd = [pool.ask("training/choices", b"{}" + b" " * place) for place in range(1, 30)]
            assert {status for status, _ in await asyncio.gather(*crowd)} == {200}
            assert len(pool._loaded) <= 4
        finally:
            await pool.stop()

    asyncio.run(run())


def test_a_line_that_moves_is_waited_in() -> None:
    """However short the wait, nobody is sent away while others are answered; of a line that stands still all are."""

    async def run() -> None:
        pool = Pool(size=1, wait_seconds=30.0)
        await pool.start()
        try:
            assert (await pool.ask("training/choices", b"{}"))[0] == 200
            held = await pool._free.get()
            pool.wait_seconds = 0.05
            assert await pool.ask("training/choices", b"{} ") == BUSY
            waiting = asyncio.create_task(pool.ask("training/choices", b"{}  "))
            for _ in range(2000):  # others are answered again and again while it waits
                pool._answered += 1
                await asyncio.sleep(0)
            assert not waiting.done()
            pool._free.put_nowait(held)
            assert (await waiting)[0] == 200
        finally:
            await pool.stop()

    asyncio.run(run())


def test_a_worker_that_dies_is_replaced() -> None:
    async def run() -> None:
        pool = Pool(size=1)
        await pool.start()
        try:
            assert (await pool.ask("training/choices", b"{}"))[0] == 200
            for process in list(pool._loaded):
                process.kill()
                await process.wait()
            assert (await pool.ask("training/choices", b"{} "))[0] == 200
            status, body = await pool.ask("training/choices", b"{}  ")
            assert status == 200
            assert json.loads(body)["models"]
        finally:
            await pool.stop()

    asyncio.run(run())


def test_slow_questions_leave_workers_for_the_others() -> None:
    """More data questions than workers wait in line; a slider's question does not wait for them."""

    async def run() -> None:
        pool = Pool(size=2, wait_seconds=300.0, compute_seconds=300.0)
        await pool.start()
        try:
            text = "gpus,seconds\n" + "".join(f"{k},{1 / k + 0.01 * i}\n" for k in (1, 2, 4, 8) for i in range(3))
            body = {"text": text, "regime": "strong"}
            slow = [
                asyncio.create_task(pool.ask("data/diagnosis", json.dumps(body | {"name": f"{place}.csv"}).encode()))
                for place in range(4)
            ]
            await asyncio.sleep(0)
            assert (await pool.ask("training/choices", b"{}"))[0] == 200
            assert [(await task)[0] for task in slow] == [200] * 4
        finally:
            await pool.stop()

    asyncio.run(run())
