"""What our own writers add to an Extra-P file, so that a study exported there comes back the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, TypeVar

from scalecurve.formats.coercion import as_count, as_text
from scalecurve.formats.reading import Point
from scalecurve.study import Quantity, Regime, Treatment, Workload

Word = TypeVar("Word", bound=StrEnum)


@dataclass(frozen=True, kw_only=True)
class StatedFacts:
    """None where the file does not say."""

    regime: Regime | None
    quantity: Quantity | None
    unit: str | None
    k_unit: str | None
    workload: Workload
    warmup: Treatment
    setup: Treatment

    def restated(self, point: Point) -> Point:
        """The file's own word on what the numbers are stands above what names suggest; its one parameter is K."""
        if self.quantity is None:
            return point
        k = as_count(next(iter(point.fields.values()))) if len(point.fields) == 1 else None
        return replace(point, quantity=self.quantity, unit=self.unit, k=k)


def stated_facts(given: Mapping[str, Any]) -> StatedFacts:
    return StatedFacts(
        regime=_word(Regime, given.get("regime")),
        quantity=_word(Quantity, given.get("quantity")),
        unit=as_text(given.get("unit")),
        k_unit=as_text(given.get("k_unit")),
        workload=Workload(name=as_text(given.get("name"))),
        warmup=_word(Treatment, given.get("warmup")) or Treatment.UNKNOWN,
        setup=_word(Treatment, given.get("setup")) or Treatment.UNKNOWN,
    )


def _word(kind: type[Word], value: Any) -> Word | None:
    return kind(value) if isinstance(value, str) and value in set(kind) else None
