"""A reference that can be cited: what was measured, with the hash that names exactly this study."""

from __future__ import annotations

import re

from scalecurve.study import Study
from scalecurve.study.file import study_digest

_SPECIAL = re.compile(r"([&%$#_{}])")


def to_bibtex(study: Study) -> str:
    digest = study_digest(study)
    listed = ", ".join(str(k) for k in study.all_k)
    created = (study.provenance.created or "")[:4]
    facts = [
        ("title", f"{{{_plain(study.name)}: {study.regime} scaling at {listed} {_plain(study.k_unit)}}}"),
        ("howpublished", f"{{Scalecurve study, {len(study.samples)} observations}}"),
        ("note", f"{{SHA-256 {digest}}}"),
    ]
    if created.isdigit():
        facts.insert(1, ("year", f"{{{created}}}"))
    body = ",\n".join(f"  {name} = {value}" for name, value in facts)
    return f"@misc{{scalecurve-{digest[:12]},\n{body}\n}}\n"


def _plain(text: str) -> str:
    without = text.replace("\\", "/").replace("~", "-").replace("^", "")
    return _SPECIAL.sub(r"\\\1", " ".join(without.split()))
