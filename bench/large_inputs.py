"""Files just below 10 MB, honest and hostile: seconds and peak memory of each, read in a process of its own.

    python -m bench.large_inputs [NAME...]

Exit 1 where one needs more than 2 s of CPU or 1 GB, or ends in anything but a study or a ScalecurveError.
"""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

SIZE = 9_900_000
MOST_SECONDS = 2.0
MOST_BYTES = 1024**3
READ = """
import sys, time
from pathlib import Path
from scalecurve.errors import ScalecurveError
from scalecurve.formats.latencies import read_latencies
from scalecurve.formats.loading import load_any as load
begin, worked = time.perf_counter(), time.process_time()
outcome = "refused"
try:
    load(Path(sys.argv[1]), regime="strong")
    outcome = "study"
except ScalecurveError:
    pass
try:
    read_latencies(Path(sys.argv[1]), unit=1e-3)
except ScalecurveError:
    pass
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(outcome, time.process_time() - worked, time.perf_counter() - begin, int(peak) * 1024)
"""


def _filled(line: Callable[[int], str], head: str = "") -> bytes:
    parts, size, number = [head], len(head), 0
    while size < SIZE:
        parts.append(line(number))
        size += len(parts[-1])
        number += 1
    return "".join(parts).encode()


def _hyperfine() -> bytes:
    times = [0.123456 + i * 1e-9 for i in range(SIZE // 2 // 22)]
    results = [{"command": f"job {k}", "times": times, "parameters": {"threads": str(k)}} for k in (1, 2)]
    return json.dumps({"results": results}).encode()[:SIZE]


def _zip_bomb() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("experiment.json", b"[" * (2 * 10**9 // 4))
    return buffer.getvalue()


def _mllog(i: int) -> str:
    return f':::MLLOG {{"time_ms": {i}, "key": "k{i}", "value": {i}, "metadata": {{"status": "success"}}}}\n'


def _sacct(i: int) -> str:
    return f"{i}|job|COMPLETED|{i % 97 + 1}|1||{2 ** (i % 5)}|cpu=1|a|b|c\n"


def _trace(i: int) -> str:
    return f'{{"ph":"X","cat":"user_annotation","name":"ProfilerStep#{i}","ts":{i * 9},"dur":5}},'


INPUTS: dict[str, Callable[[], bytes]] = {
    "hyperfine.json": _hyperfine,
    "names.json": lambda: json.dumps(
        {"results": [{"command": f"c{i}", "times": [1.0], "parameters": {"n": str(i)}} for i in range(150_000)]}
    ).encode()[: SIZE * 2],
    "empty_lists.json": lambda: b"[" + b"[]," * (SIZE // 3) + b"[]]",
    "empty_objects.json": lambda: b'{"results":[' + b"{}," * (SIZE // 3) + b"{}]}",
    "deep.json": lambda: b"[" * SIZE,
    "digits.json": lambda: b'{"results": ' + b"9" * SIZE + b"}",
    "gzip_bomb.json.gz": lambda: gzip.compress(b'{"traceEvents": [' + b" " * 3 * 10**8),
    "zip_bomb.extra-p": _zip_bomb,
    "log.txt": lambda: _filled(_mllog),
    "sacct.txt": lambda: _filled(_sacct),
    "trace.json": lambda: _filled(_trace, '{"schemaVersion":1,"traceEvents":[')[:-1] + b"]}",
    "rows.jsonl": lambda: _filled(lambda i: f'{{"k": {i % 64 + 1}, "seconds": 1.5}}\n'),
    "extrap.txt": lambda: _filled(lambda i: "1.5 ", "PARAMETER p\nPOINTS (1)\nREGION r\nMETRIC time\nDATA "),
    "extrap_points.txt": lambda: _filled(lambda i: "(1) ", "PARAMETER p\nPOINTS "),
    "imb.txt": lambda: _filled(
        lambda i: f"{i + 1} 50 1.0 1.0 1.0\n",
        "# Benchmarking Allreduce\n# #processes = 2\n#bytes #rep t_min[usec] t_max[usec] t_avg[usec]\n",
    ),
    "one_line.csv": lambda: b"K," * (SIZE // 2),
    "bad_rows.csv": lambda: _filled(lambda i: "x,y\n", "K,seconds\n"),
    "good_rows.csv": lambda: _filled(lambda i: f"{i % 8 + 1},1.25\n", "K,seconds\n"),
    "wide.csv": lambda: _filled(lambda i: f"c{i},", "K,") + b"\n" + b"1," * 1000,
    "zeros.bin": lambda: bytes(SIZE),
    "noise.txt": lambda: b"lorem ipsum " * (SIZE // 12),
}


def main() -> int:
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, make in INPUTS.items():
            if sys.argv[1:] and name not in sys.argv[1:]:
                continue
            path = Path(folder) / name
            path.write_bytes(make())
            answer = subprocess.run(
                [sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=False
            )
            outcome, seconds, wall, peak = (answer.stdout.split() or ["died", "0", "0", "0"])[:4]
            good = outcome in ("study", "refused") and float(seconds) <= MOST_SECONDS and float(peak) <= MOST_BYTES
            failures += not good
            size = path.stat().st_size / 1e6
            spent = f"{float(seconds):6.2f} s of CPU, {float(wall):6.2f} s in all, {float(peak) / 1e6:7.0f} MB"
            print(f"{name:<22} {size:6.1f} MB  {outcome:<8} {spent}{'' if good else '  <-- too much'}")
            path.unlink()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
