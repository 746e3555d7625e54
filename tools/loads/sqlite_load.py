"""Transactions a second of K processes on one SQLite file: python sqlite_load.py FILE K write|read"""

import multiprocessing
import sqlite3
import sys
import time

PATH, K, KIND = sys.argv[1], int(sys.argv[2]), sys.argv[3]
SECONDS = 0.7


def client(start: float, counts: "multiprocessing.Queue[int]") -> None:
    base = sqlite3.connect(PATH, timeout=20, isolation_level=None)
    base.execute("pragma journal_mode=wal")
    base.execute("pragma synchronous=off")
    done = 0
    while time.monotonic() < start:
        time.sleep(0.001)
    while time.monotonic() < start + SECONDS:
        if KIND == "write":
            base.execute("insert into t(v) values (?)", ("x" * 100,))
        else:
            base.execute("select v from t where id = ?", (done % 2000 + 1,)).fetchone()
        done += 1
    counts.put(done)


if __name__ == "__main__":
    base = sqlite3.connect(PATH)
    base.execute("create table if not exists t(id integer primary key, v text)")
    if base.execute("select count(*) from t").fetchone()[0] < 2000:
        base.executemany("insert into t(v) values (?)", [("y" * 100,)] * 2000)
    base.commit()
    base.close()
    counts: "multiprocessing.Queue[int]" = multiprocessing.Queue()
    start = time.monotonic() + 0.2 + 0.01 * K
    clients = [multiprocessing.Process(target=client, args=(start, counts)) for _ in range(K)]
    for one in clients:
        one.start()
    total = sum(counts.get() for _ in clients)
    end = time.monotonic()
    for one in clients:
        one.join()
    print(total / (end - start))
