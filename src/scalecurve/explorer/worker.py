"""A computing process: reads one question, answers it, waits for the next.  `python -m scalecurve.explorer.worker`.

It is a process of its own so that a question that takes too long can be stopped, and its memory is bounded.  The server
and its workers exchange frames: four bytes of length, a head line, the body.  JSON inside, never pickle.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import sys
from typing import Any

MEMORY_BYTES = 8 * 1024**3
MOST_BYTES = 64 * 1024 * 1024  # of a frame


def frame(head: str, body: bytes) -> bytes:
    payload = head.encode() + b"\n" + body
    return struct.pack(">I", len(payload)) + payload


def frame_length(prefix: bytes) -> int:
    """The number of bytes that follow the first four of a frame."""
    size: int = struct.unpack(">I", prefix)[0]
    return size


def split_frame(payload: bytes) -> tuple[str, bytes]:
    head, _, body = payload.partition(b"\n")
    return head.decode(), body


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which then closes our input
    try:
        import resource
    except ImportError:  # not on Windows
        pass
    else:
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        most = MEMORY_BYTES if hard == resource.RLIM_INFINITY else min(MEMORY_BYTES, hard)
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    answer("training", b'{"exact":false}')  # load what the first question needs while the page is still being drawn
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    try:
        sink.write(frame("ready", b""))
        sink.flush()
        while len(prefix := source.read(4)) == 4:
            status, body = answer(*split_frame(source.read(frame_length(prefix))))
            sink.write(frame(str(status), body))
            sink.flush()
    except BrokenPipeError:  # the server is gone; what is left to write goes nowhere, without a word
        os.dup2(os.open(os.devnull, os.O_WRONLY), sink.fileno())


def answer(name: str, body: bytes) -> tuple[int, bytes]:
    """The HTTP status and the JSON of the answer to one question, its options named as in the commands that the page
    prints; never raises."""
    from scalecurve.errors import ON_COMMAND_LINE

    language = ON_COMMAND_LINE.set(True)
    try:
        return _answer(name, body)
    finally:
        ON_COMMAND_LINE.reset(language)


def _answer(name: str, body: bytes) -> tuple[int, bytes]:
    from pydantic import ValidationError

    from scalecurve.errors import InputError, MissingExtra, ScalecurveError
    from scalecurve.explorer.questions.question import find
    from scalecurve.study.file import faults_of

    content: Any
    try:
        question = find(name)
        if question is None:
            status, content = 404, {"error": "there is no such question"}
        else:
            status, content = 200, question.answer(question.request.model_validate_json(body or b"{}"))
        try:
            return status, json.dumps(content, allow_nan=False, separators=(",", ":"), default=str).encode()
        except ValueError:  # infinity, or no number
            raise OverflowError("the answer is not finite") from None
    except ValidationError as problem:
        status, content = 422, {"error": str(InputError(faults_of(problem))), "refused": "InputError"}
    except MissingExtra as problem:
        status, content = 501, {"error": str(problem)}
    except ScalecurveError as problem:
        status, content = 422, {"error": str(problem), "refused": type(problem).__name__}
    except ArithmeticError as problem:  # as on the command line
        text = f"an input is too large or too small to compute with ({type(problem).__name__}: {problem}); give another"
        status, content = 422, {"error": text, "refused": "InputError"}
    except MemoryError:
        status, content = 503, {"error": "the question needs more memory than one answer may use"}
    except Exception as problem:
        status, content = 500, {"error": f"a fault of scalecurve: {type(problem).__name__}: {problem}"}
    return status, json.dumps(content, separators=(",", ":")).encode()


if __name__ == "__main__":
    main()
