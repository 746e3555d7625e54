"""A stand-in for your own job: 0.4 s of waiting in eight steps, shared by K threads, so it scales on any machine.

python scaling/job.py --workers 2
"""

import argparse
import threading
import time

from scalecurve import probe

STEPS, SECONDS = 8, 0.4

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--workers", type=int, required=True)
workers = parser.parse_args().workers

for _ in probe.steps(range(STEPS), work=1):
    threads = [threading.Thread(target=time.sleep, args=(SECONDS / STEPS / workers,)) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
