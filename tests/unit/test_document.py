"""Documents as text and HTML."""

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from scalecurve.document import (
    Cell,
    Column,
    Document,
    FindingList,
    Heading,
    JsonRecord,
    Listing,
    Paragraph,
    Result,
    table,
)
from scalecurve.errors import InputError
from scalecurve.estimate import Estimate
from scalecurve.findings import warning
from scalecurve.render.html import fragment
from scalecurve.render.terminal import to_text

HOSTILE = '</script><script>alert(1)</script>"\x1b[31m\u202e'


def test_a_table_lines_up() -> None:
    block = table(["K", Column("name", "left")], [["1", "one"], ["1024", None]], caption="caption")

    assert to_text(Document("title", (block,))) == "title\n\ncaption\n   K  name\n----  ----\n   1  one\n1024  -"


def test_control_characters_cannot_reach_the_terminal() -> None:
    blocks = (
        Heading(HOSTILE),
        Paragraph(HOSTILE),
        Listing(HOSTILE),
        table([HOSTILE], [[HOSTILE]], caption=HOSTILE),
        FindingList((warning(HOSTILE, HOSTILE, remedy=HOSTILE),)),
    )

    text = to_text(Document(HOSTILE, blocks))

    assert all(char == "\n" or char.isprintable() for char in text)
    assert "\\x1b" in text


def test_a_result_shows_itself_and_says_when_it_has_no_table() -> None:
    class Answer(Result):
        def document(self) -> Document:
            return Document("the answer", (Paragraph("42"),))

    assert str(Answer()) == "the answer\n\n42"
    assert Answer()._repr_html_() == fragment(Answer().document())
    with pytest.raises(InputError, match="Answer has no table"):
        Answer().to_frame()


def test_html_is_escaped_everywhere() -> None:
    finding = warning("code", HOSTILE, remedy=HOSTILE)
    blocks = (table([Column(HOSTILE, meaning=HOSTILE)], [[Cell(HOSTILE)]]), Paragraph(HOSTILE), Listing(HOSTILE))

    html = fragment(Document(HOSTILE, (*blocks, FindingList((finding,)))))

    assert "<script>" not in html


def test_findings_show_their_remedy() -> None:
    text = to_text(Document(None, (FindingList((warning("some-code", "what", remedy="do this"),)),)))

    assert text == "warning [some-code] what -> do this"


@dataclass(frozen=True)
class Part(JsonRecord):
    name: str
    time: Estimate | None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Whole(JsonRecord):
    part: Part
    inside: Mapping[str, Part]

    JSON = "**part part_name=part.name first=part.tags.0 time*=part.time outer.keys=names outer.inside=inside"

    def names(self) -> tuple[str, ...]:
        return tuple(self.inside)


def test_a_record_becomes_json_by_its_fields_or_by_the_keys_it_lists() -> None:
    part = Part("a", Estimate(2.0, 1.0, 3.0, 0.9, "t"), ("x",))
    whole = Whole(part, {"b": Part("b", None)})

    time = {"value": 2.0, "low": 1.0, "high": 3.0, "level": 0.9, "method": "t"}
    inside: dict[str, object] = {"b": {"name": "b", "time": None, "tags": []}}
    assert part.to_dict() == {"name": "a", "time": time, "tags": ["x"]}
    assert whole.to_dict() == {
        "name": "a", "time": 2.0, "tags": ["x"], "part_name": "a", "first": "x", "time_low": 1.0, "time_high": 3.0,
        "outer": {"keys": ["b"], "inside": inside},
    }  # fmt: skip


def test_an_absent_estimate_has_three_absent_ends() -> None:
    whole = Whole(Part("a", None, ("x",)), {})
    assert {key: value for key, value in whole.to_dict().items() if key.startswith("time")} == {
        "time": None, "time_low": None, "time_high": None,
    }  # fmt: skip
