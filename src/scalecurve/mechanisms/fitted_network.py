"""Fits of every operation in one or several sweeps, as one answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scalecurve.document import Column, Document, Paragraph, Shown, table
from scalecurve.errors import InputError
from scalecurve.findings import Finding, info
from scalecurve.mechanisms.network_extension import ExtendedSweep, HeldOut, extend_sweep, hold_out
from scalecurve.mechanisms.network_fit import NetworkFit, fit_network
from scalecurve.study.message_sweep import MessageSweep


@dataclass(frozen=True, kw_only=True)
class FittedNetwork(Shown):
    """alpha and beta per operation of one system, and its predictions where asked for."""

    system: str | None
    fits: tuple[NetworkFit, ...]
    predictions: tuple[ExtendedSweep, ...] = ()
    findings: tuple[Finding, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "system": self.system,
            "fits": [fit.to_dict() for fit in self.fits],
            "predictions": [each.to_dict() for each in self.predictions],
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def records(self) -> list[dict[str, Any]]:
        return [
            {
                "system": self.system,
                "operation": str(fit.operation),
                "algorithm": fit.algorithm,
                "alpha_seconds": fit.alpha.value,
                "beta_seconds_per_byte": fit.beta.value,
                "typical_error": fit.typical_error,
            }
            for fit in self.fits
        ]

    def document(self) -> Document:
        blocks = [block for each in (*self.fits, *self.predictions) for block in _titled(each.document())]
        return Document(self.system or "Network", tuple(blocks))


def _titled(document: Document) -> list[Any]:
    from scalecurve.document import Heading

    head = [Heading(document.title)] if document.title else []
    return [*head, *document.blocks]


def fit_sweep(sweep: MessageSweep, *, operation: str | None = None, predict: Sequence[int] = ()) -> FittedNetwork:
    """Fit one operation, or all that the sweep has."""
    names = (operation,) if operation else sweep.operations
    fits, found = [], list(sweep.findings)
    for name in names:
        try:
            fits.append(fit_network(sweep, name))
        except InputError as problem:
            if operation:
                raise
            found.append(info("not-fitted", f"{name}: {problem}"))
    if not fits:
        raise InputError(f"nothing could be fitted: {'; '.join(finding.message for finding in found)}")
    predictions = tuple(extend_sweep(sweep, str(fit.operation), predict) for fit in fits) if predict else ()
    return FittedNetwork(system=sweep.system, fits=tuple(fits), predictions=predictions, findings=tuple(found))


@dataclass(frozen=True, kw_only=True)
class FittedNetworks(Shown):
    """Several systems fitted apart."""

    systems: tuple[FittedNetwork, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(finding for each in self.systems for finding in each.findings)

    def to_dict(self) -> dict[str, Any]:
        return {"systems": [each.to_dict() for each in self.systems]}

    def records(self) -> list[dict[str, Any]]:
        return [record for each in self.systems for record in each.records()]

    def document(self) -> Document:
        blocks = [block for each in self.systems for block in _titled(each.document())]
        return Document("Networks", tuple(blocks))


@dataclass(frozen=True, kw_only=True)
class HeldOutNetworks(Shown):
    """Predictions of the larger half of the ranks from the smaller half, all systems together."""

    tests: tuple[HeldOut, ...]
    findings: tuple[Finding, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "operations": [
                {"operation": name, "median_error": ours, "last_slope_error": slope}
                for name, ours, slope in self._pooled()
            ],
            "tests": [test.to_dict() for test in self.tests],
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def records(self) -> list[dict[str, Any]]:
        kept = ("operation", "system", "median_error", "last_slope_error", "cells")
        return [{key: test.to_dict()[key] for key in kept} for test in self.tests]

    def _pooled(self) -> list[tuple[str, float, float]]:
        names = dict.fromkeys(test.operation for test in self.tests)
        found = []
        for name in names:
            ours = [error for test in self.tests if test.operation is name for error in test.errors]
            slope = [error for test in self.tests if test.operation is name for error in test.yardstick]
            found.append((str(name), float(np.median(ours)), float(np.median(slope))))
        return found

    def document(self) -> Document:
        rows = [[n, None, f"{ours:.1%}", f"{slope:.1%}"] for n, ours, slope in self._pooled()]
        rows += [[str(t.operation), t.system, f"{t.median_error:.1%}", f"{t.yardstick_error:.1%}"] for t in self.tests]
        columns: list[Column | str] = [
            Column("operation", "left"),
            Column("system", "left"),
            "median error",
            "last slope",
        ]
        head = Paragraph(
            "fitted on the smaller half of the rank counts, tested on the larger half, beside the last slope carried on"
        )
        return Document("Held-out ranks", (head, table(columns, rows)))


def hold_out_all(sweeps: Sequence[MessageSweep], *, operation: str | None = None) -> HeldOutNetworks:
    """Every operation of every system that has enough rank counts."""
    tests, found = [], []
    for sweep in sweeps:
        for name in (operation,) if operation else sweep.operations:
            try:
                tests.append(hold_out(sweep, name))
            except InputError as problem:
                found.append(info("not-tested", f"{sweep.system} {name}: {problem}"))
    if not tests:
        raise InputError(f"nothing could be held out: {'; '.join(finding.message for finding in found)}")
    tests.sort(key=lambda test: (test.operation, test.system or ""))
    return HeldOutNetworks(tests=tuple(tests), findings=tuple(found))
