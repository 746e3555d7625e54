"""An HTTP server that waits SECONDS, WIDTH requests at a time: python pool_server.py PORT SECONDS WIDTH"""

import asyncio
import sys

PORT, SECONDS, WIDTH = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, pool: asyncio.Semaphore) -> None:
    while True:
        try:
            await reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()
            return
        async with pool:
            await asyncio.sleep(SECONDS)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")


async def main() -> None:
    pool = asyncio.Semaphore(WIDTH)
    server = await asyncio.start_server(lambda r, w: serve(r, w, pool), "127.0.0.1", PORT)
    await server.serve_forever()


asyncio.run(main())
