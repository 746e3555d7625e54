"""The module laws.js of the page, made from the term table: laws and the training ceiling compute there."""

from __future__ import annotations

import json

from scalecurve.laws import ceiling, every_law

NETWORKS = ("nvlink+ib400", "nvlink3+ib200", "nvlink5+ib800", "ib100", "ib400", "eth10", "eth25", "nvlink")


def laws_script() -> str:
    """T(K)/T(1) of every law that JavaScript can compute, its formula in words, and the training ceiling."""
    known = {law.name: law.time_ratio for law in every_law() if law.time_ratio.javascript}
    lines = [
        f'  "{name}": (/** @type {{any}} */ {{ {", ".join(sorted(ratio.names | {"K"}))} }}) => {ratio.javascript},'
        for name, ratio in known.items()
    ]
    words = json.dumps({name: ratio.words for name, ratio in known.items()})
    return "\n".join(
        [
            "// @ts-check",
            "/** @type {Record<string, (values: any) => number>} */",
            "export const TIME = {",
            *lines,
            "};",
            "/** @type {Record<string, string>} */",
            f"export const WORDS = {words};",
            ceiling.script(),
        ]
    )
