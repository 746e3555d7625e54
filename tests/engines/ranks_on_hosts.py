"""Start one rank in each network namespace of the shaped test bed: `ranks_on_hosts.py K python -m worker ...`.

Namespaces are fz1 .. fzK at 10.77.0.1 .. K; rank 0's output is ours.
Used as the launch command of `collective measure`.
"""

from __future__ import annotations

import os
import subprocess
import sys


def main(arguments: list[str]) -> int:
    count, command = int(arguments[0]), arguments[1:]
    port = str(20000 + os.getpid() % 20000)
    ranks = []
    for rank in range(count):
        env = os.environ | {
            "RANK": str(rank),
            "WORLD_SIZE": str(count),
            "MASTER_ADDR": "10.77.0.1",
            "MASTER_PORT": port,
            "GLOO_SOCKET_IFNAME": "eth0",
            "OMP_NUM_THREADS": "1",
        }
        where = ["nsenter", f"--net=/var/run/netns/fz{rank + 1}"]
        output = None if rank == 0 else subprocess.DEVNULL
        ranks.append(subprocess.Popen([*where, *command], env=env, stdout=output))
    codes = [rank.wait() for rank in ranks]
    return max(codes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
