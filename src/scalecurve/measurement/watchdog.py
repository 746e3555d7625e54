"""Ends the processes of a run when the tool that started them is gone (SIGKILL, a closed terminal).

Started once per measurement as `python -I -S watchdog.py`, in a session of its own.  It sleeps in a read of its
standard input, which costs the measured job nothing; that input ends when the tool ends.  Lines are
`+token` when a run starts and `-token` when it is over.  Standard library only, and no imports of this package.
"""

from __future__ import annotations

import os
import signal
import sys
import time

MARK = b"SCALECURVE_RUN="
GRACE_SECONDS = 2.0


def marked(token: str) -> list[int]:
    """Processes whose environment carries the token: also those that left the session or were adopted by init."""
    mark = MARK + token.encode()
    pids = []
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else []:
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                pids += [int(name)] if mark in file.read().split(b"\0") else []
        except OSError:
            continue
    return pids


def end_marked(token: str, grace: float = GRACE_SECONDS) -> int:
    """Terminate, wait, kill, until none is left; returns how many there were."""
    first = marked(token)
    if not first:
        return 0
    _send(first, signal.SIGTERM)
    deadline = time.monotonic() + grace
    while marked(token) and time.monotonic() < deadline:
        time.sleep(0.02)
    left = marked(token)
    for _ in range(200):  # new ones may be born while the old ones die
        if not left:
            break
        _send(left, signal.SIGKILL)
        time.sleep(0.02)
        left = marked(token)
    return len(first)


def _send(pids: list[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue


def main() -> None:
    running: set[str] = set()
    for line in sys.stdin:
        word = line.strip()
        (running.add if word.startswith("+") else running.discard)(word[1:])
    for token in running:
        end_marked(token)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    main()
