"""How many files of the package run for a command: python tools/files_run.py forecast runs.csv ...

A file runs when one of its functions is called (module bodies that only define names do not count).
"""

from __future__ import annotations

import contextlib
import io
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1] / "src" / "scalecurve"


def main(arguments: list[str]) -> int:
    files: set[str] = set()

    def watch(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(ROOT)) and code.co_name not in ("<module>", "<lambda>"):
            files.add(code.co_filename)

    from scalecurve.cli.main import run

    threading.setprofile(watch)
    sys.setprofile(watch)
    with contextlib.redirect_stdout(io.StringIO()):
        code = run(arguments)
    sys.setprofile(None)
    print(f"exit {code}; {len(files)} files of {len(list(ROOT.rglob('*.py')))} ran")
    for name in sorted(str(Path(file).relative_to(ROOT)) for file in files):
        print(f"  {name}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
