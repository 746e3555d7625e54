"""Raw observations in two columns, so that ten million of them are two arrays."""

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
LARGEST_VALUE = 1e100  # no time or rate is larger, and squares and ratios would overflow
SMALLEST_VALUE = 1e-100
COUNTABLE_K = 10**6  # up to here a table indexed by K is cheaper than sorting the samples
MOST_FAULTS = 20


@dataclass(frozen=True)
class Summary:
    """What a table without raw samples says of the one value at K: a mean of `n` runs with standard deviation `std`.

    Both are None where the table does not say; `std` is in the unit of the samples.
    """

    k: int
    n: int | None = None
    std: float | None = None


@dataclass(frozen=True, eq=False)
class Samples:
    """Observation i was made with `k[i]` workers and gave `values[i]`; both arrays are read-only."""

    k: IntArray
    values: FloatArray

    @classmethod
    def of(cls, k: Iterable[Any] | npt.NDArray[Any], values: Iterable[Any] | npt.NDArray[Any]) -> Samples:
        """Checked samples from any two equally long columns."""
        workers, observations = _as_floats(k, "k"), _as_floats(values, "value")
        if len(workers) != len(observations):
            lengths = f"{len(workers)} and {len(observations)}"
            raise InputError(Fault("the two columns differ in length", value=lengths), subject="samples")
        if not len(workers):
            remedy = "give at least one time for each of two worker counts"
            raise InputError(Fault("there are no samples", remedy=remedy), subject="samples")
        with np.errstate(invalid="ignore"):
            bad_k = ~((workers >= 1) & (workers <= MAX_K) & (workers == np.floor(workers)))
            bad_values = ~((observations >= SMALLEST_VALUE) & (observations <= LARGEST_VALUE))
        faults = [
            *_faults_at(bad_k, workers, "worker count is not a whole number from 1"),
            *_faults_at(bad_values, observations, "value is not a positive finite number (1e-100 to 1e100)"),
        ]
        if faults:
            raise InputError(faults, subject="samples")
        columns = workers.astype(np.int64), np.array(observations)
        for column in columns:
            column.setflags(write=False)
        return cls(*columns)

    @classmethod
    def from_mapping(cls, samples: Mapping[int, Iterable[float]]) -> Samples:
        """Samples from {K: values}."""
        pairs = [(k, value) for k, values in samples.items() for value in values]
        return cls.of([k for k, _ in pairs], [value for _, value in pairs])

    def __len__(self) -> int:
        return len(self.k)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Samples):
            return NotImplemented
        return np.array_equal(self.k, other.k) and np.array_equal(self.values, other.values)

    __hash__ = None  # type: ignore[assignment]  # arrays are compared, not hashed

    @cached_property
    def distinct_k(self) -> IntArray:
        """The worker counts, rising."""
        if len(self.k) and int(self.k.max()) <= COUNTABLE_K:
            return np.flatnonzero(np.bincount(self.k)).astype(np.int64)
        return np.unique(self.k)

    def at(self, k: int) -> FloatArray:
        """The values measured with k workers."""
        values: FloatArray = self.values[self.k == k]
        return values

    def by_k(self) -> dict[int, FloatArray]:
        """The values of each K in their order, K rising."""
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
        raise InputError(Fault(f"the {name} column must be one-dimensional", value=f"{array.ndim} dimensions"))
    return array


def _faults_at(bad: npt.NDArray[np.bool_], column: FloatArray, message: str) -> list[Fault]:
    places = np.flatnonzero(bad)
    faults = [Fault(message, where=f"sample {i + 1}", value=f"{column[i]:g}") for i in places[:MOST_FAULTS]]
    if len(places) > MOST_FAULTS:
        faults.append(Fault(f"... and {len(places) - MOST_FAULTS} more like it"))
    return faults
