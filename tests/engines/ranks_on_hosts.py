"""Start one rank on each host of the shaped test bed: `ranks_on_hosts.py ENTER K python -m worker ...`.

ENTER runs a command on a host by its rank; rank 0's output is ours.  The launch command of `collective measure` there.
"""

from __future__ import annotations

import os
import subprocess
import sys


def main(arguments: list[str]) -> int:
    enter, count, command = arguments[0], int(arguments[1]), arguments[2:]
    shared = {
        "WORLD_SIZE": str(count),
        "MASTER_ADDR": "10.77.0.1",
        "MASTER_PORT": str(20000 + os.getpid() % 20000),
        "GLOO_SOCKET_IFNAME": "eth0",
        "OMP_NUM_THREADS": "1",
    }
    ranks = [
        subprocess.Popen(
            [enter, str(rank), *command],
            env=os.environ | shared | {"RANK": str(rank)},
            stdout=None if rank == 0 else subprocess.DEVNULL,
        )
        for rank in range(count)
    ]
    return max(rank.wait() for rank in ranks)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
