"""Queue formulas against published and simulated values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalecurve.errors import InputError
from scalecurve.laws import queueing


def test_one_server_has_its_textbook_values() -> None:
    assert queueing.mmc_response(80, 100) == pytest.approx(0.05)
    assert queueing.mmc_response_percentile(0.99, 80, 100) == pytest.approx(math.log(100) / 20, rel=1e-9)


def test_erlang_c_of_a_call_centre() -> None:
    # Offered load 10 erlang on 12 agents: P(wait) = 0.4494 (Erlang C tables).
    assert queueing.erlang_c(10, 1, 12) == pytest.approx(0.4494, abs=1e-4)


def test_thousands_of_servers_do_not_overflow() -> None:
    waiting = queueing.erlang_c(9_900, 1, 10_000)
    assert waiting is not None
    assert 0 < waiting < 1


def test_a_full_queue_has_no_answer() -> None:
    assert queueing.mmc_wait(100, 100) is None
    assert queueing.allen_cunneen_wait(120, 100, 1, 1, 1) is None
    assert queueing.mmc_response_percentile(0.99, 100, 50, 2) is None


def test_general_forms_contain_the_simple_ones() -> None:
    assert queueing.allen_cunneen_wait(80, 100, 1, 1, 0) == pytest.approx(0.04 / 2)  # M/D/1 waits half of M/M/1
    assert queueing.allen_cunneen_wait(80, 100, 1, 0.5, 0.3) == pytest.approx(0.8 / 0.2 * 0.4 / 100)  # Kingman
    assert queueing.allen_cunneen_wait(300, 100, 4, 1, 1) == pytest.approx(queueing.mmc_wait(300, 100, 4))


def test_the_tail_agrees_with_a_simulated_queue() -> None:
    rng = np.random.default_rng(1)
    n, servers, rate = 200_000, 3, 2.4
    arrivals = np.cumsum(rng.exponential(1 / rate, n))
    service = rng.exponential(1.0, n)
    free = [0.0] * servers
    response = np.empty(n)
    for i in range(n):
        first = min(range(servers), key=free.__getitem__)
        begin = max(arrivals[i], free[first])
        free[first] = begin + service[i]
        response[i] = free[first] - arrivals[i]
    wanted = queueing.mmc_response_tail(4.0, rate, 1.0, servers)
    assert np.mean(response > 4.0) == pytest.approx(wanted, rel=0.1)


@given(rate=st.floats(0.1, 500), limit=st.floats(0.06, 2), share=st.floats(0.5, 0.99))
def test_the_fewest_servers_meet_the_limit_and_one_less_does_not(rate: float, limit: float, share: float) -> None:
    count = queueing.servers_for(limit, share, rate, 100.0)
    if count is None:
        assert -math.log1p(-share) / 100.0 > limit
        return
    tail = queueing.mmc_response_tail(limit, rate, 100.0, count)
    assert tail is not None
    assert tail <= 1 - share
    fewer = queueing.mmc_response_tail(limit, rate, 100.0, count - 1) if count > 1 else None
    assert fewer is None or fewer > 1 - share


def test_bad_rates_are_named() -> None:
    with pytest.raises(InputError) as caught:
        queueing.mmc_wait(-1, 0, 0)
    assert len(caught.value.faults) == 3
