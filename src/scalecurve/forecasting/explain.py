"""Why a forecast says what it says: the experts' weights, and the published curves most alike.

A published curve is alike where the shape that fits it best also fits the study; what is shipped of it is that shape,
not its points.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from scalecurve.document import Block, Column, Heading, JsonRecord, Paragraph, table
from scalecurve.forecasting.curves import CurveKind, View, pack
from scalecurve.forecasting.experts import FORGETTING, log_shape
from scalecurve.forecasting.published import Calibration
from scalecurve.forecasting.stack import EXPERTS, circumstances, stacked_gains

ALIKE = 3
OTHER_CLASS = 0.02  # of misfit: what another class of unit or of worker counts for
NEXT = (2.0, 4.0)


@dataclass(frozen=True)
class ExpertShare:
    """The weight of an expert and the performance it expects over the last measured one."""

    expert: str
    share: float
    gain: float


@dataclass(frozen=True)
class AlikeCurve:
    """A published curve whose shape fits the study; `onwards` is its performance at 2 and 4 times over that before.

    `misfit` is the root mean square of the relative difference; None in `onwards` where the curve was not measured.
    `line` is the shape laid over the study, in its K and its quantity.
    """

    application: str
    system: str
    source: str
    first_k: int
    last_k: int
    misfit: float
    onwards: tuple[float | None, ...]
    line: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class ForecastExplanation(JsonRecord):
    """Experts and alike curves of a forecast at K."""

    k: int
    experts: tuple[ExpertShare, ...]
    alike: tuple[AlikeCurve, ...]

    def blocks(self) -> Iterator[Block]:
        """The blocks that a document of the forecast shows."""
        yield Heading(f"Why, at K = {self.k}")
        name = Column("expert", "left")
        shares = [[one.expert, f"{100 * one.share:.0f} %", f"{one.gain:.3g}x"] for one in self.experts]
        yield table([name, "weight", "over the last measured"], shares)
        if not self.alike:
            yield Paragraph("No published curve of this shape was measured further.")
            return
        heads = [Column("published curve", "left"), Column("source", "left"), Column("K"), Column("misfit")]
        heads += [Column(f"then at {factor:g}x") for factor in NEXT]
        rows = [
            [
                one.application,
                one.source,
                f"{one.first_k}..{one.last_k}",
                f"{one.misfit:.1%}",
                *(None if ratio is None else f"{ratio:.3g}x" for ratio in one.onwards),
            ]
            for one in self.alike
        ]
        yield table(heads, rows, caption="The published curves most alike")


def explain(own: View, k: int, calibration: Calibration) -> ForecastExplanation | None:
    """Why the forecast at K beyond the measured range is what it is; None for weak curves and collectives."""
    if own.kind is not CurveKind.STRONG or k <= own.largest_k:
        return None
    at = own.reach(np.array([[float(k)]]))
    case = circumstances(pack([own.fitted]), at, calibration.shapes)
    shares = stacked_gains(case, calibration.stack).shares[0, 0]
    ranked = [
        ExpertShare(EXPERTS[i], float(shares[i]), float(np.exp(case.gains[0, 0, i]))) for i in np.argsort(-shares)
    ]
    experts = tuple(one for one in ranked if one.share >= 0.01)
    return ForecastExplanation(k, experts, alike_curves(own, calibration))


def alike_curves(view: View, calibration: Calibration) -> tuple[AlikeCurve, ...]:
    """Published curves, each of another source, whose shape fits best and that were measured at least twice as far."""
    library, own, parameters = calibration.library, view.fitted, calibration.shapes.parameters
    rows = np.array(library["rows"], dtype=np.int64)
    weight = pack([own]).weights(FORGETTING)[0]
    residual = own.log_performance[:, None] - log_shape(parameters, np.log(own.k / own.k[0]))
    level = weight @ residual / weight.sum()
    misfit = np.sqrt(weight @ (residual - level) ** 2 / weight.sum())[rows[:, 3]]
    other = (rows[:, 6] != own.traits.unit).astype(np.float64) + (rows[:, 7] != own.traits.worker)
    span = float(own.k[-1] / own.k[0])
    reach = rows[:, 5] / rows[:, 4] >= NEXT[0] * span
    order = np.argsort(np.where(reach, misfit + OTHER_CLASS * other, np.inf), kind="stable")[: int(reach.sum())]
    _, firsts = np.unique(rows[order, 0], return_index=True)
    chosen = []
    for place in order[np.sort(firsts)[:ALIKE]].tolist():
        source, application, system, shape, first, last = rows[place, :6].tolist()
        k = np.r_[own.k, [factor * own.k[-1] for factor in NEXT if last / first >= factor * span]]
        log = log_shape(parameters[shape : shape + 1], np.log(k / own.k[0]))[:, 0] + level[shape]
        gains = np.exp(log[len(own.k) :] - log[len(own.k) - 1]).tolist()
        names = (library["applications"][application], library["systems"][system], library["sources"][source])
        onwards = (*gains, *[None] * (len(NEXT) - len(gains)))
        line = tuple(zip(k.tolist(), view.value(k, log).tolist(), strict=True))
        chosen.append(AlikeCurve(*names, first, last, float(misfit[place]), onwards, line))
    return tuple(chosen)
