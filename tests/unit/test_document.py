"""Documents as text and HTML."""

from scalecurve.document import Cell, Column, Document, FindingList, Listing, Paragraph, table, to_text
from scalecurve.findings import warning
from scalecurve.render.html import fragment

HOSTILE = '</script><script>alert(1)</script>"\x1b[31m\u202e'


def test_a_table_lines_up() -> None:
    block = table(["K", Column("name", "left")], [["1", "one"], ["1024", None]], caption="caption")

    assert to_text(Document("title", (block,))) == "title\n\ncaption\n   K  name\n----  ----\n   1  one\n1024  -"


def test_control_characters_cannot_reach_the_terminal() -> None:
    text = to_text(Document(None, (table(["x"], [[HOSTILE]]),)))

    assert "\x1b" not in text
    assert "\u202e" not in text


def test_html_is_escaped_everywhere() -> None:
    finding = warning("code", HOSTILE, remedy=HOSTILE)
    blocks = (table([Column(HOSTILE, meaning=HOSTILE)], [[Cell(HOSTILE)]]), Paragraph(HOSTILE), Listing(HOSTILE))

    html = fragment(Document(HOSTILE, (*blocks, FindingList((finding,)))))

    assert "<script>" not in html


def test_findings_show_their_remedy() -> None:
    text = to_text(Document(None, (FindingList((warning("some-code", "what", remedy="do this"),)),)))

    assert text == "warning [some-code] what -> do this"
