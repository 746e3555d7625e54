"""Documents as text and HTML."""

import pytest

from scalecurve.document import (
    Cell,
    Column,
    Document,
    FindingList,
    Heading,
    Listing,
    Paragraph,
    Result,
    table,
    to_text,
)
from scalecurve.errors import InputError
from scalecurve.findings import warning
from scalecurve.render.html import fragment

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
    with pytest.raises(NotImplementedError):
        Answer().to_dict()


def test_html_is_escaped_everywhere() -> None:
    finding = warning("code", HOSTILE, remedy=HOSTILE)
    blocks = (table([Column(HOSTILE, meaning=HOSTILE)], [[Cell(HOSTILE)]]), Paragraph(HOSTILE), Listing(HOSTILE))

    html = fragment(Document(HOSTILE, (*blocks, FindingList((finding,)))))

    assert "<script>" not in html


def test_findings_show_their_remedy() -> None:
    text = to_text(Document(None, (FindingList((warning("some-code", "what", remedy="do this"),)),)))

    assert text == "warning [some-code] what -> do this"
