"""The public names of laws and mechanisms, loaded when first used."""

from __future__ import annotations

from types import FunctionType, ModuleType

import pytest

from scalecurve import laws, mechanisms
from scalecurve.errors import InputError


@pytest.mark.parametrize("package", [laws, mechanisms])
def test_every_public_name_is_real(package: ModuleType) -> None:
    for name in package.__all__:
        assert not isinstance(getattr(package, name), ModuleType), f"{name} is hidden by a file of that name"
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = package.no_such_name


def test_every_verb_names_its_options() -> None:
    verbs = [getattr(mechanisms, name) for name in mechanisms.__all__]
    for verb in [laws.law, *(verb for verb in verbs if isinstance(verb, FunctionType))]:
        assert verb.__doc__
        assert not verb.__code__.co_flags & 0x08, f"{verb.__name__} takes **keywords"  # CO_VARKEYWORDS


def test_no_counts_are_refused() -> None:
    with pytest.raises(InputError, match="no worker counts"):
        mechanisms.collective_cost("allreduce", 1e6, [], "ib400")
