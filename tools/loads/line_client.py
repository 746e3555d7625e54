"""Requests a second of K connections that ask and wait: python line_client.py memcached|beanstalkd PORT K"""

import asyncio
import sys
import time

SERVER, PORT, K = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
SECONDS = 1.0
MEMCACHED = [b"set a%d 0 60 50\r\n" + b"x" * 50 + b"\r\n", b"get a%d\r\n"]


async def client(number: int, end: float) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", PORT)
    done = 0
    while time.perf_counter() < end:
        if SERVER == "memcached":
            writer.write(MEMCACHED[done % 2] % number)
            await reader.readuntil(b"STORED\r\n" if done % 2 == 0 else b"END\r\n")
        else:
            writer.write(b"put 0 0 60 50\r\n" + b"x" * 50 + b"\r\n")
            await reader.readline()
        done += 1
    writer.close()
    return done


async def main() -> None:
    start = time.perf_counter()
    counts = await asyncio.gather(*(client(i, start + SECONDS) for i in range(K)))
    print(sum(counts) / (time.perf_counter() - start))


asyncio.run(main())
