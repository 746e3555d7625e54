"""A user's script as a type checker sees it, checked by `make check`: each misspelt name must be an error.

mypy reports an `ignore` without an error, so that this file fails where a public name or keyword loses its type.
"""

import scalecurve as sc

study = sc.load("runs.csv", regime="strong")
sc.tabulate(study, treshold=0.7)  # type: ignore[call-arg]
sc.tabluate(study)  # type: ignore[attr-defined]
print(sc.__version__.upper(), sc.mechanisms, sc.tabulate(study, threshold=0.7).bend)
