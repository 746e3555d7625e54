"""Ends the processes of a run when the tool that started them is gone (SIGKILL, power to the terminal).

Started once per measurement as `python -I -S watchdog.py`, in a session of its own.  It sleeps in a read of its
standard input, which costs the measured job nothing; the end of that input is the death of the tool.  Lines are
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
    wanted = MARK + token.encode()
    names = os.listdir("/proc") if os.path.isdir("/proc/self") else []
    return [int(name) for name in names if name.isdigit() and int(name) != os.getpid() and _carries(name, wanted)]


def _carries(pid: str, wanted: bytes) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return wanted in file.read().split(b"\0")
    except OSError:
        return False


def end_marked(token: str, grace: float = GRACE_SECONDS) -> int:
    """Terminate, wait, kill, until none is left; returns how many there were."""
    first = marked(token)
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
