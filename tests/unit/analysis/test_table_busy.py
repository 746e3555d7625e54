"""A table of disturbed rows: what the bounds on a quiet machine decide, and what they leave open."""

from __future__ import annotations

import pytest

import scalecurve as sc
from scalecurve.findings import warning
from scalecurve.study import Study


def test_a_server_that_nobody_named_is_named_with_the_command_that_makes_it_part_of_the_job() -> None:
    mark = warning("disturbed", "busy", k=[1, 2], foreign_cores=0.8, servers=["nginx"])
    study = Study.from_samples({1: [10.0], 2: [19.0]}, regime="strong", quantity="throughput", k_unit="clients")
    told = sc.tabulate(study.with_findings([mark])).answer

    first = "No saturation point can be named: other programs (nginx serves this job) used 0.8 cores, at K = 1, 2."
    assert told.decision == first
    assert told.next == "make nginx part of the job: `scalecurve measure --force --serves nginx STUDY`"


def answer(*, e2: list[float] | None, e4: list[float] | None = None) -> str:
    bounds = {k: own for k, own in (("2", e2), ("4", e4)) if own}
    mark = warning("disturbed", "busy", k=[1, 2, 4], foreign_cores=1.4, efficiency=bounds)
    samples = {1: [10.0, 10.1], 2: [9.0, 9.1], **({4: [8.0, 8.1]} if e4 else {})}
    return sc.tabulate(Study.from_samples(samples, regime="strong").with_findings([mark])).answer.decision


@pytest.mark.parametrize(
    ("e2", "e4", "said"),
    [
        (
            [0.75, 0.95],
            None,
            "Use all 2 workers: on a quiet machine efficiency is 75 % to 95 % there (threshold 70 %).",
        ),
        ([0.75, 0.95], [0.3, 0.5], "Use 2 workers: even on a quiet machine efficiency is at most 50 % at 4"),
        ([0.6, 0.95], [0.3, 0.5], "The bend lies between K = 1 and 4: other programs used 1.4 cores at K = 1, 2, 4."),
        ([0.6, 0.95], None, "No bend can be named: other programs used 1.4 cores; K = 2 gives between 1.2x and 1.9x."),
        (None, None, "No bend can be named: other programs used 1.4 cores, at K = 1, 2."),
    ],
)
def test_the_bounds_decide_or_say_what_they_leave_open(
    e2: list[float] | None, e4: list[float] | None, said: str
) -> None:
    assert answer(e2=e2, e4=e4).startswith(said)
