"""How the explorer holds up: many clients at once, slow clients, slow questions, and its memory over many requests.

    python -m bench.explorer_load [--requests 10000] [--clients 200]

Starts a real server, drives it over sockets, prints the figures, and keeps them in bench/reliability.json under the key
`explorer`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import subprocess
import sys
import time
from statistics import median, quantiles
from typing import Any

from bench.reliability import record

LIMIT = 4 * 1024 * 1024  # bytes of a body
RESTARTS = 5
LARGE = "gpus,seconds\n" + "".join(f"{k},{1 / k + 0.0001 * i:.6f}\n" for k in range(1, 200) for i in range(40))


class Client:
    """One address with its token."""

    def __init__(self, address: str) -> None:
        match = re.fullmatch(r"http://([^:]+):(\d+)/\?token=(\S+)", address)
        if match is None:
            raise SystemExit(f"not an address with a token: {address}")
        self.host, self.port, self.token = match[1], int(match[2]), match[3]

    def head(self, name: str, length: int) -> bytes:
        lines = [
            f"POST /api/{name}?token={self.token} HTTP/1.1", f"Host: {self.host}:{self.port}",
            "Content-Type: application/json", f"Content-Length: {length}", "Connection: close", "", "",
        ]  # fmt: skip
        return "\r\n".join(lines).encode()

    async def ask(self, name: str, body: bytes) -> tuple[int, float]:
        """The status and the seconds it took."""
        start = time.perf_counter()
        try:
            reader, writer = await asyncio.open_connection(self.host, self.port)
            writer.write(self.head(name, len(body)) + body)
            answer = await asyncio.wait_for(reader.read(), 60)
            writer.close()
        except (OSError, TimeoutError):
            return 0, time.perf_counter() - start
        return int(answer.split(b" ", 2)[1]) if answer else 0, time.perf_counter() - start

    async def dawdle(self) -> float:
        """A client that never finishes its question: seconds until the server drops it."""
        start = time.perf_counter()
        reader, writer = await asyncio.open_connection(self.host, self.port)
        writer.write(self.head("training", 1000) + b"{")
        await asyncio.wait_for(reader.read(), 60)
        writer.close()
        return time.perf_counter() - start


def memory(process: int) -> float:
    """Resident megabytes of the server and its workers."""
    listed = subprocess.run(
        ["ps", "-o", "rss=", "--pid", str(process), "--ppid", str(process)], capture_output=True, text=True
    )
    return sum(int(word) for word in listed.stdout.split()) / 1024


def question(rng: random.Random) -> tuple[str, bytes]:
    """A question with settings hardly asked before."""
    if rng.random() < 0.1:
        return "training", json.dumps({"nonsense": rng.random()}).encode()
    if rng.random() < 0.95:
        return "training/choices", b"{}" + b" " * rng.randrange(1_000_000)
    settings = {"exact": False, "price": 1 + rng.random(), "tokens_per_parameter": 1 + 100 * rng.random()}
    return "training", json.dumps(settings).encode()


async def drive(client: Client, process: int, requests: int, clients: int) -> dict[str, Any]:
    rng = random.Random(3)
    await client.ask("training", b"{}")

    async def burst(count: int) -> list[tuple[int, float]]:
        return await asyncio.gather(*(client.ask(*question(rng)) for _ in range(count)))

    crowd = await burst(clients)
    slow = [
        asyncio.create_task(
            client.ask("data/diagnosis", json.dumps({"text": LARGE, "regime": "strong", "name": f"{n}.csv"}).encode())
        )
        for n in range(2)
    ]
    await asyncio.sleep(0.2)
    beside = [await client.ask("training/choices", b"{}" + b" " * rng.randrange(1_000_000)) for _ in range(20)]
    full = b'{"text": "' + b"x" * (LIMIT - 12) + b'"}'  # a body of just the limit, and one byte more
    limits = await asyncio.gather(*(client.ask("data/table", full + b" " * over) for over in (0, 0, 0, 1, 1, 1)))
    dawdlers = [asyncio.create_task(client.dawdle()) for _ in range(50)]
    meanwhile = [await client.ask("training/choices", b"{}" + b" " * rng.randrange(1_000_000)) for _ in range(20)]
    dropped = await asyncio.gather(*dawdlers)
    await asyncio.gather(*slow)
    await burst(200)  # the caches are full before memory is watched
    levels, statuses = [memory(process)], []
    for _ in range(requests // 50):
        statuses += [status for status, _ in await burst(50)]
        levels.append(memory(process))
    early = sum(levels[len(levels) // 5 : 2 * len(levels) // 5]) / max(1, len(levels) // 5)
    figures: dict[str, Any] = {
        "clients_at_once": clients,
        "crowd_unanswered": sum(status not in (200, 422) for status, _ in crowd),
        "crowd_p90_seconds": round(quantiles([taken for _, taken in crowd], n=10)[-1], 3),
        "beside_two_slow_questions_unanswered": sum(status != 200 for status, _ in beside),
        "beside_two_slow_questions_median_seconds": round(median(taken for _, taken in beside), 3),
        "beside_fifty_slow_clients_unanswered": sum(status != 200 for status, _ in meanwhile),
        "bodies_at_the_limit_unanswered": sum(status != 422 for status, _ in limits[:3]),
        "bodies_beyond_the_limit_unanswered": sum(status != 413 for status, _ in limits[3:]),
        "slow_clients_dropped_after_seconds": round(max(dropped), 1),
        "requests": len(statuses),
        "requests_unanswered": sum(status not in (200, 422) for status in statuses),
        "memory_mb_first": round(levels[0], 1),
        "memory_mb_last": round(levels[-1], 1),
        "memory_growth_of_the_later_part": round(levels[-1] / early - 1, 4),
    }
    unanswered = sum(count for name, count in figures.items() if name.endswith("_unanswered"))
    tried = len(crowd) + len(beside) + len(meanwhile) + len(limits) + len(statuses)
    return {"tried": tried, "failed": unanswered, **figures}


async def restarted(command: list[str]) -> dict[str, Any]:
    """A server started again and again on one port: the old link is refused, the new one answers, and neither output
    nor an answer's headers hold a token beside the line that prints the address and the cookie."""
    port, old, refused, answered, told = "0", None, 0, 0, 0
    for _ in range(RESTARTS):
        process = subprocess.Popen(
            [*command, "--port", port], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        client = Client(re.findall(r"http://\S+", process.stdout.readline() if process.stdout else "")[0])
        answered += (await client.ask("training/choices", b"{}"))[0] == 200
        refused += old is not None and (await old.ask("training/choices", b"{}"))[0] == 401
        process.terminate()
        told += client.token in process.communicate()[0]
        old, port = client, str(client.port)
    return {
        "restarts": RESTARTS,
        "restarts_new_link_unanswered": RESTARTS - answered,
        "restarts_old_link_accepted": RESTARTS - 1 - refused,
        "restarts_token_in_log": told,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--clients", type=int, default=200)
    chosen = parser.parse_args()
    command = [sys.executable, "-m", "scalecurve", "explore", "--no-open"]
    process = subprocess.Popen([*command, "--port", "0"], stdout=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline() if process.stdout else ""
        address = re.search(r"http://\S+", line)
        if address is None:
            raise SystemExit(f"the server did not start: {line}")
        figures = asyncio.run(drive(Client(address[0]), process.pid, chosen.requests, chosen.clients))
    finally:
        process.terminate()
        process.wait()
    figures |= asyncio.run(restarted(command))
    figures["failed"] += sum(count for name, count in figures.items() if name.startswith("restarts_"))
    print(json.dumps(figures, indent=1))
    asked = f"--requests {chosen.requests} --clients {chosen.clients}"
    record("explorer", figures, f"python -m bench.explorer_load {asked}")


if __name__ == "__main__":
    main()
