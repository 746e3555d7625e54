"""Formulas read from text, and the table of terms."""

from __future__ import annotations

import json
import shutil
import subprocess

import numpy as np
import pytest

from scalecurve.errors import InputError
from scalecurve.explorer.formulas import laws_script
from scalecurve.laws import every_law, law, parse_law
from scalecurve.laws.formula import formula, harmonic
from scalecurve.laws.terms import OVERHEADS, TERMS

K = np.array([1.0, 2.0, 3.0, 64.0, 1e9])


def test_a_formula_is_computed_shown_and_never_run_as_code() -> None:
    text = formula("1/K + serial*(1 - 1/K) + max(K**2, 3)")
    assert text(K=2.0, serial=0.5) == pytest.approx(0.5 + 0.25 + 4)
    assert text(K=K, serial=0.5)[1] == text(K=2.0, serial=0.5)
    assert text.words == "1/K + serial (1 - 1/K) + max(K^2, 3)"
    assert text.numbers(K=4, serial=0.1) == "1/4 + 0.1 (1 - 1/4) + max(4^2, 3)"
    for bad in ("K.__class__", "__import__('os')", "K if K else 1", "(lambda: 1)()", "K +"):
        with pytest.raises(InputError, match="not a formula"):
            formula(bad)(K=1.0)


def test_every_term_is_finite_and_the_overheads_share_one() -> None:
    places = {"first": 1.0, "inner": 2.0, "between": 2.5}
    for term in TERMS:
        assert np.all(np.isfinite(formula(term.formula)(K=K, P=1 / K, **places))), term.name
    assert sum(OVERHEADS.values()) == pytest.approx(1)


def test_the_harmonic_number_is_the_sum_of_its_parts() -> None:
    assert harmonic(np.array([1.0, 2.0, 50.0])) == pytest.approx([1.0, 1.5, sum(1 / i for i in range(1, 51))], rel=1e-9)


def test_a_law_is_named_with_its_parameters_in_one_word_or_beside_it() -> None:
    assert parse_law("amdahl:serial=5%") == parse_law("amdahl", serial=0.05) == (law("amdahl"), {"serial": 0.05})
    assert parse_law("sun-ni:serial=0.05,growth=1.5")[1] == {"serial": 0.05, "growth": 1.5}
    with pytest.raises(InputError, match="given twice"):
        parse_law("amdahl:serial=5%", serial=0.05)
    with pytest.raises(InputError, match="missing"):
        parse_law("amdahl")


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_page_computes_what_python_computes() -> None:
    values = {"serial": 0.05, "comm": 0.01, "contention": 0.02, "coherency": 1e-4, "growth": 1.5}
    script = laws_script().replace("export ", "") + (
        f"const values = {json.dumps(values)};\n"
        "console.log(JSON.stringify(Object.keys(TIME).map((name) => [name, TIME[name]({ K: 48, ...values })])));"
    )
    done = subprocess.run(["node", "-e", script], capture_output=True, text=True, check=True)
    times = dict(json.loads(done.stdout))
    assert times.keys() >= {law.name for law in every_law()} - {"stragglers"}
    for name, time in times.items():
        row = law(name)
        stated = {parameter.name: values.get(parameter.name, 0.1) for parameter in row.parameters}
        assert time == pytest.approx(row.time(48, **stated), rel=1e-12)
