"""Figures as programs print them: numbers and durations, one of several matches, files, patterns without end."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scalecurve.errors import InputError
from scalecurve.measurement.evidence import read_run
from scalecurve.measurement.figures import Unreadable, last_digit, metric_from, number_of, seconds_of, taken
from scalecurve.measurement.ports import LaunchJob, LaunchOutcome
from scalecurve.measurement.settings import MeasureSettings, make_settings
from scalecurve.study import Run, RunStatus


@pytest.mark.parametrize(
    ("text", "share"),
    [("1.0", 0.1), ("0.250", 0.004), ("2", 0.5), ("1.5e-3", 1 / 15), ("0.15D+00", 1 / 15), ("1,000", 0.001),
     ("0:00:12", 1 / 12), ("1:00.5", 0.1 / 60.5), ("2m3s", 1 / 123), ("850.2ms", 1 / 8502), ("0", 0.0), ("x", 0.0)],
)  # fmt: skip
def test_the_last_digit_as_a_share(text: str, share: float) -> None:
    assert last_digit(text) == pytest.approx(share)


@pytest.mark.parametrize(
    ("text", "value"),
    [("0.15", 0.15), ("1.5e-3", 0.0015), ("0.15D+00", 0.15), ("1.2d-02", 0.012), ("1,234.5", 1234.5), (".5", 0.5)],
)
def test_numbers(text: str, value: float) -> None:
    assert number_of(text, "time") == pytest.approx(value)


@pytest.mark.parametrize("text", ["0,15", "12,34", "nan", "inf", "1e999", "", "fast", "1_000", "0x10"])
def test_what_is_not_a_number_is_not_guessed(text: str) -> None:
    with pytest.raises(Unreadable, match=r"not a number|not finite"):
        number_of(text, "time")


@pytest.mark.parametrize(
    ("text", "unit", "seconds"),
    [
        ("1:02:03", "s", 3723.0), ("02:03.5", "s", 123.5), ("1-00:00:01", "s", 86401.0), ("0m1.25s", "s", 1.25),
        ("1h2m3s", "s", 3723.0), ("250", "ms", 0.25), ("2", "min", 120.0), ("0.15D+01", "s", 1.5),
    ],
)  # fmt: skip
def test_durations(text: str, unit: str, seconds: float) -> None:
    assert seconds_of(text, unit) == pytest.approx(seconds)


def test_one_of_several_matches() -> None:
    values = [3.0, 1.0, 2.0]

    assert [taken(values, take) for take in (None, "last", "first", "max", "min", "sum", "mean")] == [
        2,
        2,
        3,
        3,
        1,
        6,
        2,
    ]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("loop=Loop time of (\\S+):s", ("loop", {"pattern": "Loop time of (\\S+)", "unit": "s"})),
        ("e:sum=energy: (\\S+) J", ("e", {"pattern": "energy: (\\S+) J", "take": "sum"})),
        ("rate=(\\S+) tau/day:tau/day", ("rate", {"pattern": "(\\S+) tau/day", "unit": "tau/day"})),
    ],
)
def test_metrics_as_one_text(text: str, expected: tuple[str, dict[str, str]]) -> None:
    assert metric_from(text) == expected


def test_a_text_that_is_no_metric_is_refused() -> None:
    with pytest.raises(InputError, match="NAME=PATTERN"):
        metric_from("no group here")


def run_of(tmp_path: Path, output: str, *, wall: float = 10.0, errors: str = "", **more: object) -> Run:
    settings = settings_for(tmp_path, **more)
    job = LaunchJob(
        k=2, repeat=0, order=0, role="scaling", argv=("x",), env={}, folder=tmp_path / "run", token="t"
    )  # fmt: skip
    outcome = LaunchOutcome(status=RunStatus.OK, launched=1000.0, wall_seconds=wall, output=output, errors=errors)
    return read_run(job, settings, outcome, oversubscribed=False, warmup=False)


def settings_for(tmp_path: Path, **more: object) -> MeasureSettings:
    base = {"regime": "strong", "workers": "1,2", "command": ["x", "{workers}"], "folder": str(tmp_path)}
    return make_settings({**base, **more})


def test_a_time_longer_than_its_launch_is_refused(tmp_path: Path) -> None:
    run = run_of(tmp_path, "speed 444", wall=1.2, timing={"pattern": r"speed (\d+)"})

    assert run.status is RunStatus.FAILED
    assert "longer than the launch" in str(run.error)
    assert "--rate-pattern" in str(run.error)


def test_a_rate_and_metrics_from_output_error_output_and_files(tmp_path: Path) -> None:
    (tmp_path / "log.2").write_text("energy: 3 J\nenergy: 4 J\n")
    os.utime(tmp_path / "log.2", (2000, 2000))
    run = run_of(
        tmp_path,
        "444 steps/s",
        errors="pages 7",
        timing={"rate_pattern": r"(\d+) steps/s", "read_from": ["stdout", "stderr", "log.{workers}"]},
        metrics=["energy:sum=energy: (\\S+) J:J", "pages=pages (\\d+)"],
    )

    assert (run.value, run.observed["timing"]) == (444.0, "rate")
    assert run.observed["metrics"] == {"energy": {"value": 7.0, "unit": "J"}, "pages": {"value": 7.0, "unit": None}}


@pytest.mark.parametrize(("written", "words"), [(None, "wrote no"), (500, "older than the launch")])
def test_a_file_that_is_not_of_this_launch_is_refused(tmp_path: Path, written: int | None, words: str) -> None:
    if written is not None:
        (tmp_path / "log").write_text("t 1")
        os.utime(tmp_path / "log", (written, written))
    run = run_of(tmp_path, "", timing={"pattern": r"t (\d)", "read_from": ["log"]})

    assert run.status is RunStatus.FAILED
    assert words in str(run.error)


def test_a_rate_beside_a_time_is_kept_with_the_run(tmp_path: Path) -> None:
    run = run_of(tmp_path, "t 2 s, 50 steps/s", timing={"pattern": r"t (\d+)", "rate_pattern": r"(\d+) steps/s"})

    assert (run.value, run.observed["timing"]) == (2.0, "pattern")
    assert run.observed["metrics"]["rate"]["value"] == 50.0
    with pytest.raises(InputError, match="by time, not by rate"):
        settings_for(tmp_path, timing={"rate_pattern": "(b)"}, baseline={"one": {"command": ["y"]}})


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("850.25ms", 0.85025),
        ("12µs", 12e-6),
        ("12\u03bcs", 12e-6),
        ("1m2.5s", 62.5),
        ("2.5 s", 2.5),
        ("3min 1s", 181.0),
    ],
)
def test_a_duration_with_its_unit_says_its_own(text: str, seconds: float) -> None:
    assert seconds_of(text, "h") == pytest.approx(seconds)


def pattern_job(tmp_path: Path, output: str, errors: str = "", **timing: object) -> Run:
    asked = make_settings(
        {"regime": "strong", "workers": "1", "command": ["x"], "folder": str(tmp_path), "timing": timing}
    )
    job = LaunchJob(
        k=1, repeat=0, order=0, role="scaling", argv=("x",), env={}, folder=tmp_path, token="t", timeout=None
    )
    done = LaunchOutcome(status=RunStatus.OK, launched=0.0, wall_seconds=9.0, output=output, errors=errors)
    return read_run(job, asked, done, oversubscribed=False, warmup=False)


def test_a_pattern_that_nearly_matches_is_told_how(tmp_path: Path) -> None:
    spaced = pattern_job(tmp_path, "TIME =   0.5", pattern=r"TIME = (\S+)")
    assert (
        spaced.error == r"the time pattern 'TIME = (\S+)' matches nothing; write \s+ for its spaces: 'TIME\s+=\s+(\S+)'"
    )
    elsewhere = pattern_job(tmp_path, "", "TIME = 0.5", pattern=r"TIME = (\S+)")
    assert str(elsewhere.error).endswith("it does on standard error: add --from stderr")
    assert str(pattern_job(tmp_path, "", pattern=r"T=(\S+)").error).endswith("the job printed nothing there")


@pytest.mark.parametrize(
    ("errors", "complaint"),
    [
        ("note\nERROR: could not open licence\n", "ERROR: could not open licence"),
        ("Traceback (most recent call last):\n", "Traceback (most recent call last):"),
        ("L2 error: 1.2e-9\nrelative error = 0.5\n", None),
        ("real 0m1.2s\n", None),
        ("", None),
    ],
)
def test_complaints_on_standard_error_are_kept(tmp_path: Path, errors: str, complaint: str | None) -> None:
    assert pattern_job(tmp_path, "T=1", errors, pattern=r"T=(\S+)").observed.get("complaint") == complaint


def test_a_number_with_its_unit_inside_the_brackets_names_the_way_out() -> None:
    with pytest.raises(Unreadable, match="brackets around the number alone"):
        number_of("462401.90k", "rate")


@pytest.mark.parametrize(
    ("output", "timing", "words"),
    [
        ("0.09 Gterm/s", {"pattern": r"([\d.]+) Gterm"}, "that is a rate; use --rate-pattern"),
        ("rate 2 samples per second", {"pattern": r"rate ([\d.]+)"}, "that is a rate"),
        ("took 2.5 ms", {"pattern": r"took ([\d.]+)"}, "say --time-unit ms"),
        ("took 2.5 seconds", {"pattern": r"took ([\d.]+)", "unit": "ms"}, "say --time-unit s"),
        ("busy 3 % of it", {"pattern": r"busy ([\d.]+)"}, "that is a share"),
        ("5 1.50s/it", {"rate_pattern": r"([\d.]+)s/it"}, "that is a time; use --time-pattern"),
        ("Performance: 1.5 hour/ns", {"rate_pattern": r"Performance: ([\d.]+)"}, "that is a time"),
        ("speed 55 TFLOP/s/GPU", {"rate_pattern": r"speed ([\d.]+)"}, "the rate of one gpu"),
    ],
)
def test_a_figure_whose_printed_unit_says_something_else_is_refused(
    tmp_path: Path, output: str, timing: dict[str, str], words: str
) -> None:
    run = run_of(tmp_path, output, timing=timing)

    assert run.status is RunStatus.FAILED
    assert words in str(run.error)


@pytest.mark.parametrize(
    ("output", "timing", "value"),
    [
        ("Loop time of 1.5 on 2 procs", {"pattern": r"Loop time of ([\d.]+)"}, 1.5),
        ("time 0.5 min 0.4 max 0.6", {"pattern": r"time ([\d.]+)"}, 0.5),
        ("TIME = 0.15D+01 SEC", {"pattern": r"TIME = (\S+)"}, 1.5),
        ("0:01.50elapsed 99%CPU", {"pattern": r"([\d:.]+)elapsed"}, 1.5),
        ("step 250 ms/step", {"pattern": r"step (\d+)", "unit": "ms"}, 0.25),
        ("12.5 ns/day", {"rate_pattern": r"([\d.]+) ns/day"}, 12.5),
        ("rate 500 s^-1", {"rate_pattern": r"rate (\d+)"}, 500.0),
        ("rate 500 tokens/s", {"rate_pattern": r"rate (\d+)"}, 500.0),
        ("2 minutes", {"pattern": r"(\d+)", "unit": "min"}, 120.0),
    ],
)
def test_a_printed_unit_that_agrees_is_no_obstacle(
    tmp_path: Path, output: str, timing: dict[str, str], value: float
) -> None:
    run = run_of(tmp_path, output, wall=200.0, timing=timing)

    assert run.error is None
    assert run.value == pytest.approx(value)


def test_the_unit_that_a_program_chose_is_kept(tmp_path: Path) -> None:
    run = run_of(tmp_path, "copied, 1.2 GB/s", timing={"rate_pattern": r"copied, ([\d.]+)"})

    assert run.observed["printed_units"] == ["GB/s"]
