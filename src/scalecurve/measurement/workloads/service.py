"""A job for `scalecurve try`: threads ask a slow service and write each reply into one shared log.

    python -m scalecurve.measurement.workloads.service --workers 4

A request waits 6 ms, as for a disk or a network, and holds no core; a reply is written in 1 ms by one thread at a time.
So the job bends on any machine, also on two cores: by the lock, T is at least `requests` x 1 ms, however many workers.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

REQUEST_SECONDS = 0.006
WRITE_SECONDS = 0.001


def serve(requests: int, workers: int) -> int:
    """Make that many requests with so many threads; returns the replies written."""
    lock, log = Lock(), []

    def ask(number: int) -> None:
        time.sleep(REQUEST_SECONDS)
        with lock:
            time.sleep(WRITE_SECONDS)
            log.append(number)

    with ThreadPoolExecutor(workers) as pool:
        pool.map(ask, range(requests))
    return len(log)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--requests", type=int, default=160)
    options = parser.parse_args()
    start = time.perf_counter()
    replies = serve(options.requests, options.workers)
    sys.stdout.write(f"{replies} replies written in {time.perf_counter() - start:.6f} seconds\n")


if __name__ == "__main__":
    main()
