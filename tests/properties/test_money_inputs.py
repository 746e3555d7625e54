"""Whatever is written as money or as a proposal: an answer, or an error of ours with a message."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import scalecurve as sc
from scalecurve.errors import ScalecurveError
from scalecurve.hardware.prices import find_offer
from scalecurve.planning.tariff import parse_money

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "proposals").glob("*.toml"))


@settings(deadline=None)
@given(st.text(max_size=30) | st.from_regex(r"[$€A-Z ]{0,4}[-0-9.,e_]{1,12}[kMB]?[A-Za-z ]{0,4}", fullmatch=True))
def test_money(text: str) -> None:
    with contextlib.suppress(ScalecurveError):
        assert parse_money(text).amount == parse_money(text).amount


@settings(deadline=None)
@given(st.text(max_size=30))
def test_catalog_names(text: str) -> None:
    with contextlib.suppress(ScalecurveError):
        assert find_offer(text).median > 0


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_mutated_proposals(tmp_path: Path, data: st.DataObject) -> None:
    """A line of a real proposal with another value: judged, or refused with a reason."""
    example = data.draw(st.sampled_from([path for path in EXAMPLES if path.stem not in ("measured", "every-part")]))
    lines = example.read_text().splitlines()
    place = data.draw(st.sampled_from([i for i, line in enumerate(lines) if "=" in line and not line.startswith("#")]))
    name = lines[place].partition("=")[0]
    value = data.draw(
        st.sampled_from(['"x"', "-1", "0", "1", "0.5", "1e308", "nan", "inf", "[]", "{}", '"5h"', "true", "10000000"])
    )
    path = tmp_path / "proposal.toml"
    path.write_text("\n".join([*lines[:place], f"{name}= {value}", *lines[place + 1 :]]))

    with contextlib.suppress(ScalecurveError):
        result = sc.assess(path)
        assert str(result)
        assert result.to_dict()


@pytest.mark.parametrize("name", ["</script><b>", "\x1b[31mred", "a\nb", "‮rtl", "x" * 10_000])
def test_hostile_names_are_inert(tmp_path: Path, name: str) -> None:
    import json

    from scalecurve.render.html import to_page

    path = tmp_path / "proposal.toml"
    quoted = json.dumps(name)
    path.write_text(f'title = {quoted}\nworkers = 4\nregime = "strong"\n[serial]\nshare = 0.1\nsource = {quoted}\n')
    assert "\x1b" not in str(sc.assess(path))
    page = to_page(sc.assess(path).document())

    assert "<b>" not in page.replace("<b>info</b>", "").replace("<b>warning</b>", "")
    assert "</script>" not in page
