"""A computing process: reads one question, answers it, waits for the next.  `python -m scalecurve.explorer.worker`.

It is a process of its own so that a question that takes too long can be stopped, and its memory is bounded.  The server
and its workers exchange messages: a line of a head and a length, and the body.  JSON inside, never pickle.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

MEMORY_BYTES = 8 * 1024**3
MOST_BYTES = 64 * 1024 * 1024  # of an answer


def message(head: str, body: bytes = b"") -> bytes:
    return f"{head} {len(body)}\n".encode() + body


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
        sink.write(message("ready"))
        sink.flush()
        for line in iter(source.readline, b""):
            name, size = line.decode().split()
            status, body = answer(name, source.read(int(size)))
            sink.write(message(str(status), body))
            sink.flush()
    except BrokenPipeError:  # the server is gone; what is left to write goes nowhere, without a word
        os.dup2(os.open(os.devnull, os.O_WRONLY), sink.fileno())


def answer(name: str, body: bytes) -> tuple[int, bytes]:
    """The HTTP status and the JSON of the answer to one question, its options named as in the commands that the page
    prints; never raises."""
    from pydantic import ValidationError

    from scalecurve.errors import ON_COMMAND_LINE, InputError, MissingExtra, ScalecurveError
    from scalecurve.explorer.questions.question import find
    from scalecurve.study.file import faults_of

    content: Any
    language = ON_COMMAND_LINE.set(True)
    try:
        question = find(name)
        if question is None:
            return 404, b'{"error":"there is no such question"}'
        content = question.answer(question.request.model_validate_json(body or b"{}"))
        try:
            return 200, json.dumps(content, allow_nan=False, separators=(",", ":"), default=str).encode()
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
    finally:
        ON_COMMAND_LINE.reset(language)
    return status, json.dumps(content, separators=(",", ":")).encode()


if __name__ == "__main__":
    main()
