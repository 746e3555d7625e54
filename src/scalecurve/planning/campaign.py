"""Many jobs on many workers: one after another on K, or packed side by side into a fleet.

With J jobs, a fleet of N and K workers each: lanes = N // K jobs at a time, waves = ceil(J / lanes), and

    time = waves x T(K),      cost = J x K p T(K)

so packing changes the time and not the cost per result.  Workers that no lane uses are not paid for.
"""

from __future__ import annotations

from dataclasses import dataclass

from scalecurve.planning.pricing import Bill, elapsed_seconds, price_job
from scalecurve.planning.tariff import Tariff


@dataclass(frozen=True, kw_only=True)
class Campaign:
    """How many jobs, into how many workers they are packed (None: one after another on K), and how they rent.

    `one_rental`: the machines are kept from job to job, so set-up and minimum billing are paid once per lane.
    Otherwise every job is a rental of its own.
    """

    jobs: int = 1
    fleet: int | None = None
    one_rental: bool = False

    def lanes(self, k: int) -> int:
        return 1 if self.fleet is None else min(self.jobs, max(1, self.fleet // k))

    def waves(self, k: int) -> int:
        return -(-self.jobs // self.lanes(k))

    def full_lanes(self, k: int) -> int:
        """Lanes that run a job in the last wave too: the ones that finish last."""
        return self.jobs - self.lanes(k) * (self.waves(k) - 1)


def campaign_seconds(campaign: Campaign, tariff: Tariff, k: int, seconds: float) -> float:
    """From the first start to the last result."""
    waves = campaign.waves(k)
    if campaign.one_rental:
        return elapsed_seconds(tariff, workers=k, seconds=seconds, jobs=waves)
    return waves * elapsed_seconds(tariff, workers=k, seconds=seconds)


def campaign_bills(campaign: Campaign, tariff: Tariff, k: int, seconds: float) -> list[tuple[int, Bill]]:
    """The bills of all rentals, each with how often it occurs."""
    if not campaign.one_rental:
        return [(campaign.jobs, price_job(tariff, workers=k, seconds=seconds))]
    full, waves = campaign.full_lanes(k), campaign.waves(k)
    bills = [(full, price_job(tariff, workers=k, seconds=seconds, jobs=waves))]
    rest = campaign.lanes(k) - full
    if rest and waves > 1:
        bills.append((rest, price_job(tariff, workers=k, seconds=seconds, jobs=waves - 1)))
    return bills


def campaign_cost(campaign: Campaign, tariff: Tariff, k: int, seconds: float) -> float:
    """What all jobs cost together."""
    return sum(times * bill.total for times, bill in campaign_bills(campaign, tariff, k, seconds))
