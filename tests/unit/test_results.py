"""Every result has the same face: document, to_dict, findings, and a repr that says the answer in a line or two."""

import importlib
import pkgutil
from collections.abc import Iterator

import scalecurve
from scalecurve.document import Result


def results(base: type = Result) -> Iterator[type]:
    for child in base.__subclasses__():
        if child.__module__.startswith("scalecurve."):
            yield child
        yield from results(child)


def test_every_result_has_the_whole_face() -> None:
    for module in pkgutil.walk_packages(scalecurve.__path__, "scalecurve."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)

    for result in set(results()):
        fields = {name for kind in result.__mro__ for name in getattr(kind, "__annotations__", {})}
        assert result.document is not Result.document, result
        assert result.to_dict is not Result.to_dict, result
        assert "findings" in fields or hasattr(result, "findings"), result
