"""Messages: what, where, the value seen, the way out; all faults at once."""

from scalecurve.errors import Fault, FormatError, InputError, MissingExtra


def test_one_fault_is_one_line() -> None:
    problem = InputError(Fault("not a time", where="line 3", value="abc", remedy="write seconds"), subject="runs.csv")

    assert str(problem) == "runs.csv: line 3: not a time (got 'abc'); write seconds"


def test_several_faults_are_all_listed() -> None:
    problem = FormatError([Fault("a"), Fault("b")], subject="f")

    assert str(problem) == "f: 2 faults\n  a\n  b"


def test_long_and_binary_values_are_cut_and_escaped() -> None:
    text = str(Fault("bad", value="\x00" + "x" * 500))

    assert len(text) < 120
    assert "\x00" not in text


def test_a_missing_extra_says_what_to_install() -> None:
    assert "pip install 'scalecurve[web]'" in str(MissingExtra("the page", "web"))


def test_a_damaged_file_without_a_remedy_of_its_own_still_has_a_way_out() -> None:
    assert str(FormatError("not JSON", subject="a.json")) == "a.json: not JSON; check the file, or write it anew"
    assert str(FormatError("empty; give rows")) == "empty; give rows"
