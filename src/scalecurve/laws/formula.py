"""Formulas as text, read without `eval`: computed for one K or an array of K, shown to people, written as JavaScript.

A formula holds numbers, names, + - * / **, and the functions of `FUNCTIONS`: `1/K + serial*(1 - 1/K) + comm*log2(K)`.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from scalecurve.errors import Fault, InputError

Value = Any  # a float, or an array of them
Node = Callable[[Mapping[str, Value]], Value]

OPERATORS: dict[type, tuple[Callable[..., Value], str]] = {
    ast.Add: (operator.add, "({} + {})"),
    ast.Sub: (operator.sub, "({} - {})"),
    ast.Mult: (operator.mul, "({} * {})"),
    ast.Div: (operator.truediv, "({} / {})"),
    ast.Pow: (operator.pow, "({} ** {})"),
    ast.USub: (operator.neg, "(-{})"),
}


def _either(scalar: Callable[..., float], array: str) -> Callable[..., Value]:
    """A function of numbers that takes arrays too."""

    def of(*values: Value) -> Value:
        if not any(getattr(value, "ndim", 0) for value in values):
            return scalar(*values)
        import numpy as np

        return getattr(np, array)(*values)

    return of


def harmonic(k: Value) -> Value:
    """H_K, the expected largest of K exponential draws of mean 1 (A. Renyi, 1953), by Euler's series for K + 8."""
    far = k + 8.0
    series = 0.5772156649015329 + 1 / (2 * far) - 1 / (12 * far**2) + 1 / (120 * far**4) - 1 / (252 * far**6)
    return _either(math.log, "log")(far) + series - sum(1 / (k + i) for i in range(1, 9))


def expected_largest(k: Value) -> Value:
    """E[max] of K standard normal draws, by Blom's formula (within 5 % at K = 2, 2 % from K = 5 on)."""
    import numpy as np
    from scipy.special import ndtri

    return np.where(k > 1, ndtri((k - 0.375) / (k + 0.25)), 0.0)


def slowest(k: Value, spread: Value) -> Value:
    """The expected largest of K lognormal draws of mean 1."""
    from scalecurve.laws.stragglers import lognormal_maximum

    if not getattr(k, "ndim", 0) and not getattr(spread, "ndim", 0):
        return lognormal_maximum(k, spread)
    import numpy as np

    return np.vectorize(lognormal_maximum, otypes=[float])(k, spread)


FUNCTIONS: dict[str, tuple[Callable[..., Value], str]] = {
    "log2": (_either(math.log2, "log2"), "Math.log2({})"),
    "sqrt": (_either(math.sqrt, "sqrt"), "Math.sqrt({})"),
    "max": (_either(max, "maximum"), "Math.max({}, {})"),
    "min": (_either(min, "minimum"), "Math.min({}, {})"),
    "beyond": (lambda k, onset: (k > onset) * 1.0, "({} > {} ? 1 : 0)"),
    "harmonic": (harmonic, ""),
    "expected_largest": (expected_largest, ""),
    "slowest": (slowest, ""),
}
"""What a formula may call, and the same in JavaScript (empty: the page cannot compute it)."""


@dataclass(frozen=True)
class Formula:
    """A formula by its text; calling it with the value of every name computes it."""

    text: str

    def __call__(self, **values: Value) -> Value:
        return self._compiled[0](values)

    @property
    def javascript(self) -> str | None:
        """The formula in JavaScript, by the same names; None where a function of it is not known there."""
        text = self._compiled[1]
        return None if "(?)" in text else text

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(re.findall(r"[A-Za-z_]\w*", self.text)) - FUNCTIONS.keys()

    @property
    def words(self) -> str:
        """The formula as people write it: serial (1 - 1/K)."""
        return self.text.replace("**", "^").replace("*", " ")

    def numbers(self, **values: float) -> str:
        """The formula as people write it, with numbers for names."""
        return re.sub(r"[A-Za-z_]\w*", lambda m: f"{values[m[0]]:g}" if m[0] in values else m[0], self.words)

    @cached_property
    def _compiled(self) -> tuple[Node, str]:
        try:
            return _compile(ast.parse(self.text, mode="eval").body)
        except (SyntaxError, KeyError, AttributeError, TypeError) as problem:
            hint = f"numbers, names, + - * / **, and {', '.join(FUNCTIONS)}"
            raise InputError(Fault("not a formula", value=self.text, remedy=hint)) from problem


@cache
def formula(text: str) -> Formula:
    """The formula of a text, read once."""
    return Formula(text)


def _compile(node: Any) -> tuple[Node, str]:
    """A node of the syntax tree as a function of the values of the names, and as JavaScript."""
    if isinstance(node, ast.Constant):
        number = float(str(node.value))
        return lambda _: number, repr(number)
    if isinstance(node, ast.Name):
        name = node.id
        return lambda values: values[name], name
    if isinstance(node, ast.Call):
        function, script = FUNCTIONS[node.func.id]  # type: ignore[attr-defined]  # another call has no id, and is refused
        parts = node.args
    else:
        function, script = OPERATORS[type(node.op)]
        parts = [node.operand] if isinstance(node, ast.UnaryOp) else [node.left, node.right]
    inner = [_compile(part) for part in parts]
    computed = [compute for compute, _ in inner]
    return lambda values: function(*(compute(values) for compute in computed)), (script or "(?)").format(
        *(text for _, text in inner)
    )
