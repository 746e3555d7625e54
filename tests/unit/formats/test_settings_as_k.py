"""A setting of a run is K where the times prove it, and is offered or left alone elsewhere."""

from __future__ import annotations

import pytest

from scalecurve.errors import InputError
from scalecurve.formats.reading import ReadOptions
from scalecurve.formats.source import Source
from scalecurve.formats.tables.decision import read

TIMES = ("40.2", "20.7", "11.7")


def _text(form: str, counts: tuple[int, ...] = (1, 2, 4)) -> bytes:
    return "".join(f"{form.format(k=k, t=t)}\n" for k, t in zip(counts, TIMES, strict=True)).encode()


@pytest.mark.parametrize("form", ["T={k} {t}", "$ ./run -p {k}\ntime: {t} s", "$ ./run 1024 {k}\ntime: {t} s"])
def test_times_that_fall_prove_that_a_setting_is_k(form: str) -> None:
    reading = read(Source("runs.txt", raw=_text(form)), ReadOptions())
    assert [curve.samples.k.tolist() for curve in reading.curves] == [[1, 2, 4]]


@pytest.mark.parametrize("form", ["$ ./gemm --tile {k}\ntime: {t} s", "$ ./gemm -b {k}\ntime: {t} s"])
def test_a_setting_of_another_name_is_not_taken(form: str) -> None:
    with pytest.raises(InputError):
        read(Source("runs.txt", raw=_text(form)), ReadOptions())
