"""A thousand studies forecast in one call against Extra-P on 25 of them: python -m bench.forecast_speed

One core, one process, processor time; the ratio of the two is what counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import scalecurve as sc
from bench.extrap_model import extrap_available, fit_extrap
from scalecurve.forecasting.forecast import forecast_all

STUDIES, PEER, AT = 1000, 25, (128, 256, 512, 1024)
K = 2 ** np.arange(7)


def curves() -> list[dict[int, list[float]]]:
    """Strong-scaling curves with random serial and communication parts, 5 repeats, 2 % noise."""
    rng = np.random.default_rng(31)
    made = []
    for serial, comm in rng.uniform([0.0, 0.0], [0.1, 0.02], size=(STUDIES, 2)):
        times = serial + (1 - serial) / K + comm * np.log2(K)
        noise = 1 + 0.02 * rng.standard_normal((len(K), 5))
        made.append(dict(zip(K.tolist(), (times[:, None] * noise).tolist(), strict=True)))
    return made


def seconds_of(action: Callable[[], object]) -> float:
    start = time.process_time()
    action()
    return time.process_time() - start


def main() -> None:
    samples = curves()
    studies = [sc.Study.from_samples(own, regime="strong") for own in samples]
    sc.forecast(studies[0], at=AT)  # imports and the calibration table
    ours = min(seconds_of(lambda: forecast_all(studies, at=AT)) for _ in range(3))
    one = min(seconds_of(lambda: sc.forecast(studies[1], at=AT)) for _ in range(20))
    whole = min(seconds_of(lambda: sc.forecast(studies[2], at=AT).to_dict()) for _ in range(20))
    print(f"scalecurve: {STUDIES} studies in one call {ours:.3f} s; one study {1e3 * one:.1f} ms, ", end="")
    print(f"with backtest and bend {1e3 * whole:.1f} ms")
    if not extrap_available():
        print("Extra-P (PyPI extrap) is not installed: nothing to compare with")
        return
    fit_extrap(K.tolist(), list(samples[0].values()))
    peer = seconds_of(lambda: [fit_extrap(K.tolist(), list(own.values())) for own in samples[:PEER]])
    print(f"Extra-P: {PEER} studies {peer:.3f} s")
    print(f"ratio: {STUDIES} studies here take {ours / peer:.2f} of the time of {PEER} there")


if __name__ == "__main__":
    main()
