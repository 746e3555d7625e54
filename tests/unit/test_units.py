"""Quantities at the edges."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalecurve import units
from scalecurve.errors import InputError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("20ms", 0.02), ("5h", 18000), ("1h30m", 5400), ("30d", 2592000), ("1.5 min", 90), ("2us", 2e-6)],
)
def test_durations(text: str, seconds: float) -> None:
    assert math.isclose(units.parse_seconds(text), seconds)


@pytest.mark.parametrize("text", ["", "h", "5 parsecs", "5h!", "--5", "1:30"])
def test_durations_that_are_none(text: str) -> None:
    with pytest.raises(InputError, match="duration"):
        units.parse_seconds(text)


def test_numbers_too_large_are_named_for_what_they_are() -> None:
    with pytest.raises(InputError, match="too large or too small"):
        units.parse_bytes("1e999GB")
    with pytest.raises(InputError, match="too large or too small"):
        units.parse_count("1e999")
    with pytest.raises(InputError, match="too large or too small"):
        units.parse_seconds("1e999h")


@pytest.mark.parametrize(
    ("text", "count"),
    [("4M", 4_000_000), ("4Mi", 4_194_304), ("70B", 70e9), ("8k", 8000), ("1_000", 1000), ("2e3", 2000)],
)
def test_counts_tell_decimal_from_binary(text: str, count: float) -> None:
    assert units.parse_count(text) == count


@pytest.mark.parametrize(("text", "size"), [("350MB", 350e6), ("16MiB", 16 * 2**20), ("1024", 1024), ("1024B", 1024)])
def test_sizes(text: str, size: float) -> None:
    assert units.parse_bytes(text) == size


@pytest.mark.parametrize("text", ["350Mb", "1 furlong", "b", "12BB"])
def test_bits_are_not_bytes(text: str) -> None:
    with pytest.raises(InputError):
        units.parse_bytes(text)


def test_bandwidth_in_bits_and_bytes_differ_by_eight() -> None:
    assert units.parse_bandwidth("400Gb/s") == 50e9
    assert units.parse_bandwidth("400Gbps") == 50e9
    assert units.parse_bandwidth("400GB/s") == 400e9


def test_bandwidth_must_say_which() -> None:
    with pytest.raises(InputError, match="bits or bytes"):
        units.parse_bandwidth("400G")


@pytest.mark.parametrize(
    ("text", "workers"),
    [
        ("1,2,4,8", (1, 2, 4, 8)),
        ("1..512", (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)),
        ("1..8:1", (1, 2, 3, 4, 5, 6, 7, 8)),
        ("8..100", (8, 16, 32, 64, 100)),
        ("4,1,2,2", (1, 2, 4)),
    ],
)
def test_worker_lists(text: str, workers: tuple[int, ...]) -> None:
    assert units.parse_workers(text) == workers


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5", "8..1", "1..8:0", "a,b", "1..", "1..999999999:1"])
def test_worker_lists_that_are_none(text: str) -> None:
    with pytest.raises(InputError):
        units.parse_workers(text)


def test_every_bad_item_of_a_list_is_named() -> None:
    with pytest.raises(InputError) as caught:
        units.parse_workers("1,x,4,y")

    assert len(caught.value.faults) == 2


@pytest.mark.parametrize(
    ("value", "counts"),
    [
        (16, (16,)),
        (np.int64(16), (16,)),
        (np.array(16), (16,)),
        ([32, 16], (32, 16)),
        (np.array([16, 32]), (16, 32)),
        (range(1, 4), (1, 2, 3)),
        ("16..64", (16, 32, 64)),
    ],
)
def test_worker_counts_come_in_every_form(value: units.WorkersLike, counts: tuple[int, ...]) -> None:
    assert units.as_workers(value) == counts
    assert all(type(count) is int for count in units.as_workers(value))


@pytest.mark.parametrize("value", [0, -4, 2.5, True, None, [16, "x"], [0], np.array([1.5]), object()])
def test_a_wrong_worker_count_says_what_is_accepted(value: Any) -> None:
    with pytest.raises(InputError, match=r"pass 16, \[16, 32\], an array"):
        units.as_workers(value)


@pytest.mark.parametrize(
    ("text", "share"), [("0.95", 0.95), ("95%", 0.95), ("95 %", 0.95), ("95", 0.95), ("1", 1), ("120%", 1.2), ("0", 0)]
)
def test_shares_and_levels_are_read_alike(text: str, share: float) -> None:
    assert units.parse_share(text) == pytest.approx(share)


@pytest.mark.parametrize("text", ["1.5", "101", "x", "5 parts", ""])
def test_shares_that_are_none(text: str) -> None:
    with pytest.raises(InputError, match="share"):
        units.parse_share(text)


def test_numbers_stay_as_they_are() -> None:
    assert [units.parse_factor(text) for text in ("180x", "180", " 1.5× ")] == [180, 180, 1.5]
    assert units.parse_numbers("0.01,1.5,20%,40") == (0.01, 1.5, 0.2, 40)
    with pytest.raises(InputError) as caught:
        units.parse_numbers("1,x,2y")
    assert len(caught.value.faults) == 2


@given(st.floats(min_value=1e-9, max_value=1e9))
def test_a_formatted_duration_reads_back_within_its_digits(seconds: float) -> None:
    assert math.isclose(units.parse_seconds(units.format_seconds(seconds).replace(" ", "")), seconds, rel_tol=6e-4)


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (86.94, 140.6, "86.94..140.6 s"), (0.6374, 1.031, "637.4..1031 ms"), (0.0, 1.5, "0..1.5 s"),
        (60.0, 7200.0, "1..120 min"), (2e-5, 3e-3, "20..3000 us"), (-1.0, 2.0, "-1..2 s"),
    ],
)  # fmt: skip
def test_the_ends_of_an_interval_share_one_unit(low: float, high: float, text: str) -> None:
    assert units.format_seconds_range(low, high) == text


@pytest.mark.parametrize(
    ("durations", "texts"),
    [
        ([0.112, 1.005], ["0.112 s", "1.005 s"]),
        ([0.0801, 0.2108], ["80.1 ms", "210.8 ms"]),
        ([1432.0, 9212.0], ["23.87 min", "153.5 min"]),
        ([1e-6, 3600.0], ["1 us", "60 min"]),
        ([None, 5.0], ["5 s"]),
    ],
)
def test_durations_of_a_column_share_one_unit(durations: list[float | None], texts: list[str]) -> None:
    write = units.seconds_alike(durations)
    assert [write(duration) for duration in durations if duration is not None] == texts


def test_an_interval_has_one_unit_even_where_its_column_has_none() -> None:
    column = units.seconds_alike([1e-6, 95.67, 149.7])
    assert units.format_interval(95.67, 149.7, column) == "95.67..149.7 s"
    assert units.format_interval(2.0, 3.5, "{:.2f}".format) == "2.00..3.50"


def test_memory_is_written_as_devices_report_it() -> None:
    assert units.format_memory(80 * 2**30) == "80 GiB"
    assert units.format_memory(76.5e9) == "71.2 GiB"
    assert units.format_memory(5 * 2**20) == "5 MiB"
