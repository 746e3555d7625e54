"""The Python reference, which mkdocstrings fills with signatures."""

from __future__ import annotations

import importlib
import inspect

import scalecurve

HEAD = """# Python

```python
import scalecurve as sc

table = sc.tabulate("times.csv", regime="strong")  # a path, a Study, a mapping {K: seconds} or a frame
table.bend, table.rows[-1].efficiency  # attributes; print(table) shows the text, table.to_dict() the JSON
```

A function that answers a question returns a result with `findings` (what a reader must know), `to_dict()` ([the
JSON](json.md)) and, if it has a table, `records()` and `to_frame()` (pandas or polars: `pip install
'scalecurve[frames]'`). Errors are `sc.InputError` (your input) and `sc.Refused` (the data cannot answer).
Types and defaults follow below the table on the site; `help(sc.load)` prints them too.
"""


def python_reference() -> str:
    """Every name on top of the package, then the names of its modules."""
    homes = sorted(scalecurve.HOMES.items(), key=lambda pair: pair[0].lower())
    parts = [HEAD, "| name | what it is |\n|---|---|", *(glance(name) for name, _ in homes), ""]
    parts += [f"::: {home}.{name}\n" for name, home in homes]
    for module in scalecurve.MODULES:
        names = getattr(importlib.import_module(f"scalecurve.{module}"), "__all__", ())
        parts += [f"## sc.{module}\n", ", ".join(f"`{name}`" for name in names) + "\n"] if names else []
    return "\n".join(parts)


def glance(name: str) -> str:
    """A row: how a function is called, and the first sentence of its docstring."""
    thing = getattr(scalecurve, name)
    names = list(inspect.signature(thing).parameters) if inspect.isfunction(thing) else []
    call = f"({', '.join([*names[:5], *(['...'] if len(names) > 5 else [])])})" if names else ""
    sentence = " ".join((inspect.getdoc(thing) or "").partition("\n\n")[0].split())
    return f"| `sc.{name}{call}` | {sentence.replace('|', '/')} |"
