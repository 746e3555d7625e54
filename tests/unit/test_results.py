"""Every result has the same face: document, to_dict, findings, and a repr that says the answer in a line or two."""

import importlib
import pkgutil
from collections.abc import Iterator

import pytest

import scalecurve
from scalecurve.document import JsonRecord, Result


def children(base: type[JsonRecord]) -> Iterator[type[JsonRecord]]:
    for child in base.__subclasses__():
        if child.__module__.startswith("scalecurve."):
            yield child
        yield from children(child)


@pytest.fixture(autouse=True)
def everything_is_imported() -> None:
    for module in pkgutil.walk_packages(scalecurve.__path__, "scalecurve."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def test_every_key_of_the_json_is_an_attribute() -> None:
    for record in set(children(JsonRecord)):
        paths = [entry.rpartition("=")[2].strip("*").partition(".")[0] for entry in record.JSON.split()]
        names = {*dir(record), *(name for kind in record.__mro__ for name in getattr(kind, "__annotations__", {}))}
        assert set(paths) <= names, record


def test_every_result_has_the_whole_face() -> None:
    for result in set(children(Result)):
        assert issubclass(result, Result)
        fields = {name for kind in result.__mro__ for name in getattr(kind, "__annotations__", {})}
        assert result.body is not Result.body, result
        assert "findings" in fields or hasattr(result, "findings"), result
