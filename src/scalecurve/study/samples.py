"""Raw observations in columns, so that ten million of them stay two arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from scalecurve.errors import Fault, InputError

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

MAX_K = 10**9
LARGEST_VALUE = 1e100  # beyond these no time or rate is meant, and squares and ratios would overflow
SMALLEST_VALUE = 1e-100
COUNTABLE_K = 10**6  # up to here a table indexed by K is cheaper than sorting the samples


@dataclass(frozen=True, eq=False)
class Samples:
    """Observation i was made with `k[i]` workers and gave `values[i]`; both arrays are read-only."""

    k: IntArray
    values: FloatArray

    @classmethod
    def of(cls, k: Iterable[Any] | npt.NDArray[Any], values: Iterable[Any] | npt.NDArray[Any]) -> Samples:
        """Checked samples from any two equally long columns."""
        raw_k, raw_values = _as_floats(k, "k"), _as_floats(values, "value")
        faults = _faults_of(raw_k, raw_values)
        if faults:
            raise InputError(faults, subject="samples")
        return cls(_frozen(raw_k.astype(np.int64)), _frozen(np.array(raw_values)))

    @classmethod
    def from_mapping(cls, samples: Mapping[int, Iterable[float]]) -> Samples:
        columns = [(k, value) for k, values in samples.items() for value in values]
        return cls.of([k for k, _ in columns], [value for _, value in columns])

    def __len__(self) -> int:
        return len(self.k)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Samples):
            return NotImplemented
        return np.array_equal(self.k, other.k) and np.array_equal(self.values, other.values)

    __hash__ = None  # type: ignore[assignment]  # arrays are compared, not hashed

    @cached_property
    def distinct_k(self) -> IntArray:
        """Rising; by counting where that is cheaper than sorting."""
        if len(self.k) and int(self.k.max()) <= COUNTABLE_K:
            return np.flatnonzero(np.bincount(self.k)).astype(np.int64)
        return np.unique(self.k)

    def at(self, k: int) -> FloatArray:
        chosen: FloatArray = self.values[self.k == k]
        return chosen

    def by_k(self) -> dict[int, FloatArray]:
        """Values of each K in the order they were made, K rising."""
        order = np.argsort(self.k, kind="stable")
        distinct, starts = np.unique(self.k[order], return_index=True)
        parts = np.split(self.values[order], starts[1:])
        return {int(k): part for k, part in zip(distinct, parts, strict=True)}


def _as_floats(column: Iterable[Any] | npt.NDArray[Any], name: str) -> FloatArray:
    try:
        array = np.asarray(column if isinstance(column, np.ndarray) else list(column), dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise InputError(Fault(f"the {name} column is not all numbers: {problem}")) from None
    if array.ndim != 1:
        raise InputError(Fault(f"the {name} column must be one-dimensional", seen=f"{array.ndim} dimensions"))
    return array


def _faults_of(k: FloatArray, values: FloatArray) -> list[Fault]:
    if len(k) != len(values):
        return [Fault("the two columns differ in length", seen=f"{len(k)} and {len(values)}")]
    if not len(k):
        return [Fault("there are no samples", remedy="give at least one time for each of two worker counts")]
    with np.errstate(invalid="ignore"):
        bad_k = ~((k >= 1) & (k <= MAX_K) & (k == np.floor(k)))
        bad_value = ~((values >= SMALLEST_VALUE) & (values <= LARGEST_VALUE))
    return [
        *_point_out(bad_k, k, "worker count is not a whole number from 1"),
        *_point_out(bad_value, values, "value is not a positive finite number (1e-100 to 1e100)"),
    ]


def _point_out(bad: npt.NDArray[np.bool_], column: FloatArray, message: str, most: int = 20) -> list[Fault]:
    places = np.flatnonzero(bad)
    faults = [Fault(message, where=f"sample {i + 1}", seen=f"{column[i]:g}") for i in places[:most]]
    if len(places) > most:
        faults.append(Fault(f"... and {len(places) - most} more like it"))
    return faults


def _frozen(array: npt.NDArray[Any]) -> Any:
    """An array of our own, made read-only."""
    array.setflags(write=False)
    return array
