"""A computing process: reads one question, answers it, waits for the next.  `python -m scalecurve.explorer.worker`.

Being a process of its own, it can be stopped when a question takes too long, and its memory is bounded.
"""

from __future__ import annotations

import json
import signal
import sys
from typing import Any

from scalecurve.explorer import frames

MEMORY_BYTES = 8 * 1024**3


class NoSuchQuestion(Exception):
    """Nothing answers to this name."""


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which then closes our input
    _bound_memory()
    _warm_up()
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    while (asked := frames.read(source)) is not None:
        status, body = answer(*asked)
        sink.write(frames.frame(str(status), body))
        sink.flush()


def _warm_up() -> None:
    """Load what the first question will need while the page is still being drawn."""
    answer("training", b"{}")


def _bound_memory() -> None:
    try:
        import resource
    except ImportError:  # not on Windows
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = MEMORY_BYTES if hard == resource.RLIM_INFINITY else min(MEMORY_BYTES, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def answer(name: str, body: bytes) -> tuple[int, bytes]:
    """The HTTP status and the JSON of the answer to one question; never raises."""
    from scalecurve.errors import MissingExtra, ScalecurveError

    try:
        return 200, _json(_ask(name, body))
    except NoSuchQuestion:
        return 404, _json({"error": "there is no such question"})
    except MissingExtra as problem:
        return 501, _json({"error": str(problem)})
    except ScalecurveError as problem:
        return 422, _json({"error": str(problem), "refused": type(problem).__name__})
    except MemoryError:
        return 503, _json({"error": "the question needs more memory than one answer may use"})
    except Exception as problem:
        return 500, _json({"error": f"a fault of scalecurve: {type(problem).__name__}: {problem}"})


def _ask(name: str, body: bytes) -> Any:
    from pydantic import ValidationError

    from scalecurve.errors import InputError
    from scalecurve.explorer.questions import find
    from scalecurve.study.file import faults_of

    question = find(name)
    if question is None:
        raise NoSuchQuestion
    try:
        request = question.request.model_validate_json(body or b"{}")
    except ValidationError as problem:
        raise InputError(faults_of(problem)) from None
    return question.answer(request)


def _json(data: Any) -> bytes:
    return json.dumps(data, allow_nan=False, separators=(",", ":"), default=str).encode()


if __name__ == "__main__":
    main()
