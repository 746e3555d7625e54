"""Loss as a function of parameters and tokens, and what is optimal for a budget of compute.

L(N, D) = E + A / N^a + B / D^b          C = 6 N D
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from scalecurve.training.presets import data_text, plain, unknown


@dataclass(frozen=True, kw_only=True)
class LossLaw:
    name: str
    floor: float
    parameter_scale: float
    parameter_power: float
    token_scale: float
    token_power: float
    source: str

    def loss(self, parameters: float, tokens: float) -> float:
        by_size = self.parameter_scale / parameters**self.parameter_power
        result: float = self.floor + by_size + self.token_scale / tokens**self.token_power
        return result

    def optimal(self, flop: float) -> tuple[float, float]:
        """(N, D) of least loss with 6 N D = flop: N = G (C/6)^(b/(a+b)), G = (aA/bB)^(1/(a+b)) (Hoffmann et al. 2022,
        equation 4)."""
        a, b = self.parameter_power, self.token_power
        ratio = (a * self.parameter_scale / (b * self.token_scale)) ** (1.0 / (a + b))
        parameters = ratio * (flop / 6.0) ** (b / (a + b))
        return parameters, flop / (6.0 * parameters)


@cache
def loss_laws() -> Mapping[str, LossLaw]:
    entries = tomllib.loads(data_text("loss_laws.toml"))
    return {name: LossLaw(name=name, **values) for name, values in entries.items()}


def loss_law(name: str) -> LossLaw:
    found = loss_laws().get(plain(name))
    if found is None:
        raise unknown("loss law", name, loss_laws())
    return found
