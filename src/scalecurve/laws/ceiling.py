"""The training ceiling in closed form: how far data parallelism carries one model, and what splitting it then costs.

A smooth model to learn from, computed here and in the explorer's page from the same texts; `scalecurve plan` searches
real layouts.  Left out: gradient exchange that is not hidden, whole numbers, and links slower than those of a node.
"""

from __future__ import annotations

import json
from typing import Any

from scalecurve.laws.formula import Value, formula

CONSTANTS = {
    "seq": 8192.0,  # tokens
    "micro": 1.0,  # sequences
    "flops": 0.6 * 989e12,  # achieved by one H100 in bf16
    "bandwidth": 450e9,  # bytes/s of one accelerator inside a node
    "memory": 80e9,  # bytes
    "tokens_per_parameter": 20.0,
    "price": 2.5,  # dollars per accelerator-hour
}
STEPS = {
    "hidden": "(128*N/12)**(1/3)",  # N = 12 layers hidden^2, hidden = 128 layers
    "chunks": "hidden/128/8",  # of eight layers, which a pipeline passes around so that fewer stages wait
    "replicas": "critical/(micro*seq)",  # the batch is held at the critical batch: each replica one micro-batch
    "least_split": "1 + 18*N/(8*0.7*memory)",  # states over eight replicas; a smooth curve through the powers of two
    "cap": "replicas*least_split",
    "smallest": "8*least_split",
    "split": "max(least_split, P/replicas)",  # accelerators that share one replica
    "micro_batches": "replicas*split/P",  # of a replica: one past the cap, more below it
    "tensor": "16*flops/(72*hidden*bandwidth)",  # tensor traffic over compute, for each degree above one
    **{
        f"comm_{tp}": f"tensor*(min({tp}, split) - 1) + (split/min({tp}, split) - 1)/(chunks*micro_batches)"
        for tp in (1, 2, 4, 8)
    },
    "comm_frac": "min(min(comm_1, comm_2), min(comm_4, comm_8))",  # tensor and pipeline in the better proportion
    "compute": "1/(1 + comm_frac)",
    "useful": "1/(1 + micro*seq*replicas/critical)",  # share of the tokens (McCandlish et al. 2018)
    "seconds": "6*N*N*tokens_per_parameter/(P*flops*compute*useful)",
    "usd": "seconds*P*price/3600",
}
GROWTH = {  # weak scaling: compute per accelerator stays, 6 N 20 N grows with P; the critical batch with the data
    "N": "N*sqrt(P/smallest)",
    "critical": "critical*(P/smallest)**0.25",
}


def ceiling(*, N: Value, critical: Value, P: Value, **constants: Value) -> dict[str, Value]:
    """Every step of the model for N parameters, a critical batch in tokens and P accelerators; `efficiency` is what an
    accelerator does, relative to the smallest P that holds the model."""
    steps = _steps(N=N, critical=critical, P=P, **constants)
    first = _steps(N=N, critical=critical, P=steps["smallest"], **constants)
    return steps | {"efficiency": steps["compute"] * steps["useful"] / (first["compute"] * first["useful"])}


def grown(*, N: Value, critical: Value, P: Value, **constants: Value) -> dict[str, Value]:
    """The same for a model that has grown with P from the one that the smallest P holds."""
    fixed = ceiling(N=N, critical=critical, P=P, **constants)
    larger = {name: formula(text)(**fixed) for name, text in GROWTH.items()}
    steps = _steps(P=P, **larger, **constants)
    first = _steps(N=N, critical=critical, P=fixed["smallest"], **constants)
    return steps | {"efficiency": steps["compute"] * steps["useful"] / (first["compute"] * first["useful"])}


def _steps(**values: Value) -> dict[str, Value]:
    known: dict[str, Any] = CONSTANTS | values
    for name, text in STEPS.items():
        known[name] = formula(text)(**known)
    return known


def script() -> str:
    """The same in JavaScript: `steps` computes every step, `larger` what grows in weak scaling."""
    names = ", ".join([*CONSTANTS, "N", "critical", "P"])
    lines = [f"  const {name} = {formula(text).javascript};" for name, text in STEPS.items()]
    larger = ", ".join(f"{name}: {formula(text).javascript}" for name, text in GROWTH.items())
    words = {name: formula(text).words for name, text in STEPS.items()}
    return "\n".join(
        [
            f"export const CONSTANTS = {json.dumps(CONSTANTS)};",
            "/** @param {any} values @returns {Record<string, number>} */",
            "export function steps(values) {",
            f"  const {{ {names} }} = {{ ...CONSTANTS, ...values }};",
            *lines,
            f"  return {{ N, critical, P, {', '.join(STEPS)} }};",
            "}",
            "/** @param {any} values @returns {Record<string, number>} */",
            f"export const larger = ({{ N, critical, P, smallest }}) => ({{ {larger} }});",
            "/** @type {Record<string, string>} */",
            f"export const STEP_WORDS = {json.dumps(words)};\n",
        ]
    )
