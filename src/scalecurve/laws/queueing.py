"""Queues: how long does a request wait, and how many servers does an SLO need?

    M/M/1   W = 1/(mu - lambda);  percentile q of the response  ln(1/(1-q)) / (mu - lambda)
    M/M/c   P(wait) = Erlang C;   Wq = C / (c mu - lambda);     P(Wq > t) = C exp(-(c mu - lambda) t)
    M/G/1   Wq = rho/(1-rho) (1 + cs2)/2 / mu                   (Pollaczek-Khinchine, exact: Kingman with ca2 = 1)
    G/G/1   Wq ~ rho/(1-rho) (ca2 + cs2)/2 / mu                 (Kingman 1961, heavy traffic)
    G/G/c   Wq ~ (ca2 + cs2)/2 x Wq of M/M/c                    (Allen-Cunneen)

lambda arrivals per second, mu served per second and server, rho = lambda/(c mu), ca2 and cs2 the squared coefficients
of variation of arrivals and service. Little: L = lambda W. At rho >= 1 the queue grows without bound: None.
Source: L. Kleinrock, Queueing Systems I, 1975; Erlang C through Erlang B's recursion, which cannot overflow.
Worked number: lambda = 80/s, mu = 100/s, one server: W = 50 ms and p99 = 230 ms.
Limits: the formulas hold in a steady state, first come first served; bursts and correlated service times wait longer.
"""

from __future__ import annotations

import math

from scalecurve.errors import Fault, InputError

MAX_SERVERS = 10_000_000


def check(rate: float, service_rate: float, servers: int = 1) -> None:
    """Raise an InputError for negative rates and fewer than one server."""
    faults = []
    if not (math.isfinite(rate) and rate >= 0):
        faults.append(Fault("the arrival rate is a finite number from 0", where="rate", value=f"{rate:g}"))
    if not (math.isfinite(service_rate) and service_rate > 0):
        remedy = "give a service time above 0, such as 10ms"
        faults.append(Fault("not a positive number", where="service rate", value=f"{service_rate:g}", remedy=remedy))
    if servers < 1:
        faults.append(Fault("a queue has at least one server", where="servers", value=str(servers)))
    if faults:
        raise InputError(faults, subject="queue")


def utilisation(rate: float, service_rate: float, servers: int = 1) -> float:
    """Load of each server: rho = lambda/(c mu)."""
    return rate / (servers * service_rate)


def erlang_b(offered: float, servers: int) -> float:
    """Blocking probability by B(0) = 1, B(c) = a B(c-1) / (c + a B(c-1))."""
    blocked = 1.0
    for server in range(1, servers + 1):
        blocked = offered * blocked / (server + offered * blocked)
    return blocked


def erlang_c(rate: float, service_rate: float, servers: int) -> float | None:
    """Probability of waiting in M/M/c: C = B / (1 - rho (1 - B)); None when unstable."""
    check(rate, service_rate, servers)
    rho = utilisation(rate, service_rate, servers)
    if rho >= 1:
        return None
    blocked = erlang_b(rate / service_rate, servers)
    return blocked / (1 - rho * (1 - blocked))


def mmc_wait(rate: float, service_rate: float, servers: int = 1) -> float | None:
    """Mean wait in M/M/c in seconds: C/(c mu - lambda)."""
    waiting = erlang_c(rate, service_rate, servers)
    return None if waiting is None else waiting / (servers * service_rate - rate)


def mmc_response(rate: float, service_rate: float, servers: int = 1) -> float | None:
    """Mean response in M/M/c in seconds: wait plus service."""
    wait = mmc_wait(rate, service_rate, servers)
    return None if wait is None else wait + 1 / service_rate


def mmc_response_tail(seconds: float, rate: float, service_rate: float, servers: int = 1) -> float | None:
    """P(response > t) in M/M/c, exactly: the wait is 0 or exponential, service is exponential and independent."""
    waiting = erlang_c(rate, service_rate, servers)
    if waiting is None:
        return None
    mu, drain = service_rate, servers * service_rate - rate
    served = math.exp(-mu * seconds)
    if math.isclose(mu, drain, rel_tol=1e-9):
        return served * (1 + waiting * mu * seconds)
    mixed = waiting * mu * (math.exp(-drain * seconds) - served) / (mu - drain)
    return served + mixed


def mmc_response_percentile(share: float, rate: float, service_rate: float, servers: int = 1) -> float | None:
    """The response time that `share` of requests stay below, by bisection of the exact tail."""
    if erlang_c(rate, service_rate, servers) is None:
        return None
    low, high = 0.0, 1 / service_rate
    while (mmc_response_tail(high, rate, service_rate, servers) or 0.0) > 1 - share:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        if (mmc_response_tail(middle, rate, service_rate, servers) or 0.0) > 1 - share:
            low = middle
        else:
            high = middle
    return high


def allen_cunneen_wait(
    rate: float, service_rate: float, servers: int, arrival_variation: float, service_variation: float
) -> float | None:
    """Mean wait in G/G/c in seconds: (ca2 + cs2)/2 times the wait of M/M/c; with one server this is Kingman's."""
    wait = mmc_wait(rate, service_rate, servers)
    return None if wait is None else wait * (arrival_variation + service_variation) / 2


def servers_for(limit: float, share: float, rate: float, service_rate: float) -> int | None:
    """Fewest servers whose M/M/c response is within `limit` for `share` of requests; None if service alone is not."""
    check(rate, service_rate)
    if -math.log1p(-share) / service_rate > limit:
        return None
    low = math.floor(rate / service_rate) + 1
    high = low
    while not _meets(limit, share, rate, service_rate, high):
        low, high = high + 1, high * 2
        if high > MAX_SERVERS:
            return None
    while low < high:
        middle = (low + high) // 2
        if _meets(limit, share, rate, service_rate, middle):
            high = middle
        else:
            low = middle + 1
    return high


def _meets(limit: float, share: float, rate: float, service_rate: float, servers: int) -> bool:
    tail = mmc_response_tail(limit, rate, service_rate, servers)
    return tail is not None and tail <= 1 - share
