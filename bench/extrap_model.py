"""Extra-P (PyPI extrap) behind one function: the peer that models performance from few points."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def extrap_available() -> bool:
    from importlib.util import find_spec

    return find_spec("extrap") is not None


def fit_extrap(k: Sequence[float], times: Sequence[Sequence[float]]) -> Callable[[float], float]:
    """T(K) by Extra-P's basic modeler on K*T, divided by K: its documented way to model strong scaling."""
    from extrap.entities.coordinate import Coordinate
    from extrap.entities.measurement import Measurement
    from extrap.modelers.single_parameter.basic import SingleParameterModeler

    measured = [
        Measurement(Coordinate(float(own)), None, None, [own * value for value in values])
        for own, values in zip(k, times, strict=True)
    ]
    model = SingleParameterModeler().create_model(measured)
    function = model.hypothesis.function
    return lambda own: float(function.evaluate(own)) / own


def fit_extrap_grid(
    size: Sequence[float], k: Sequence[float], times: Sequence[float], *, negative: bool
) -> Callable[[float, float], float]:
    """T(N, K) by Extra-P's multi-parameter modeler; `negative` allows negative exponents (strong scaling)."""
    from extrap.entities.coordinate import Coordinate
    from extrap.entities.measurement import Measurement
    from extrap.modelers.multi_parameter.multi_parameter_modeler import MultiParameterModeler

    measured = [
        Measurement(Coordinate(float(n), float(own)), None, None, [float(time)])
        for n, own, time in zip(size, k, times, strict=True)
    ]
    modeler = MultiParameterModeler()
    modeler.single_parameter_modeler.allow_negative_exponents = negative
    function = modeler.create_model(measured).hypothesis.function
    return lambda n, own: float(function.evaluate((float(n), float(own))))
