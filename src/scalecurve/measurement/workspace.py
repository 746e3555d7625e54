"""The folder of a measurement under way, beside its output: the journal, the files of runs, and a lock.

Every completed run is one line of the journal, written and flushed to the disk before the next launch.  Whatever
kills the tool, the journal keeps all that was complete; a torn last line is one run that never was.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scalecurve.errors import Fault, InputError

JOURNAL_VERSION = 1


@dataclass(frozen=True)
class Workspace:
    """`<output>.work/` with `journal.jsonl`, `lock` and `runs/`."""

    output: Path

    @property
    def folder(self) -> Path:
        return self.output.with_name(self.output.name + ".work")

    @property
    def journal(self) -> Path:
        return self.folder / "journal.jsonl"

    def run_folder(self, order: int) -> Path:
        return self.folder / "runs" / f"{order:05d}"

    def exists(self) -> bool:
        return self.journal.exists()

    def holds_runs(self) -> bool:
        """Whether any run ended, well or not; read as bytes, so that one damaged line does not hide the others."""
        return self.exists() and any(line.startswith(b'{"run"') for line in self.journal.read_bytes().splitlines())

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the output for this process alone; the lock ends with the process, however it ends."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = open(self.folder / "lock", "a+")  # noqa: SIM115 - held until the end of the measurement
        except OSError as problem:
            raise cannot_write(self.folder, problem) from None
        with lock:
            self._take(lock.fileno())
            try:
                yield
            finally:
                if not self.holds_runs():  # nothing was completed: leave nothing behind
                    self.remove()

    def _take(self, handle: int) -> None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # A lock on a file that its last holder has just removed keeps nobody out.
            if os.fstat(handle).st_nlink == 0:
                raise BlockingIOError
        except OSError:
            holder = os.pread(handle, 32, 0).decode(errors="replace").strip() or "unknown"
            hint = "wait for it, stop it, or choose another -o"
            raise InputError(
                Fault("another measurement is writing here", seen=f"process {holder}", remedy=hint),
                subject=str(self.output),
            ) from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)

    def append(self, line: Mapping[str, Any]) -> None:
        """One line, on the disk when this returns; a line that does not fit is taken back, so none is half there."""
        raw = (json.dumps(line, allow_nan=False, default=str) + "\n").encode()
        try:
            handle = os.open(self.journal, os.O_WRONLY | os.O_CREAT, 0o644)
        except OSError as problem:
            raise cannot_write(self.journal, problem) from None
        try:
            end = os.lseek(handle, 0, os.SEEK_END)
            _write_all(handle, raw, end)
        except OSError as problem:
            raise cannot_write(self.journal, problem) from None
        finally:
            os.close(handle)

    def lines(self, *, mend: bool = True) -> list[dict[str, Any]]:
        """What the journal holds; the tool may have died while writing the last line, which is then cut off."""
        if not self.exists():
            return []
        raw = self.journal.read_bytes()
        whole = raw[: raw.rfind(b"\n") + 1]
        if mend and len(whole) < len(raw):
            os.truncate(self.journal, len(whole))
        return [json.loads(line) for line in whole.splitlines()]

    def discard_run(self, order: int) -> None:
        shutil.rmtree(self.run_folder(order), ignore_errors=True)

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def _write_all(handle: int, raw: bytes, end: int) -> None:
    try:
        written = 0
        while written < len(raw):
            written += os.write(handle, raw[written:])
        os.fsync(handle)
    except OSError:
        os.ftruncate(handle, end)
        raise


def cannot_write(path: Path, problem: OSError) -> InputError:
    hint = "the runs completed so far are safe; make room or choose another place, then measure --resume"
    return InputError(Fault(f"cannot be written: {problem.strerror}", remedy=hint), subject=str(path))
