"""Files that people write: one model gives faults and template."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from pydantic import Field

from scalecurve.errors import FormatError, InputError
from scalecurve.files import read_toml
from scalecurve.formats.user_file import FileSection, template, validate, write_template


class Wheel(FileSection):
    """A part."""

    inches: float = Field(gt=0, description="rim", examples=[28])


class Bike(FileSection):
    """A file."""

    name: str = Field(examples=["tour"])
    gears: int | None = Field(default=None, description="in front times rear", examples=[27])
    front: Wheel = Wheel(inches=28)
    spare: Wheel | None = None
    lights: tuple[Wheel, ...] = ()


def test_a_template_sets_what_is_filled_and_comments_out_the_rest() -> None:
    text = template(Bike, "A bike.", filled=("name",))

    assert tomllib.loads(text) == {"name": "tour", "front": {}}
    assert "# gears = 27                      # in front times rear" in text
    assert "# [spare]" in text
    assert "# [[lights]]" in text


def test_every_fault_has_its_place_and_value() -> None:
    with pytest.raises(FormatError) as caught:
        validate(Bike, {"gears": "many", "front": {"inches": -1}, "bell": True}, subject="bike.toml")

    faults = {fault.where: fault.value for fault in caught.value.faults}
    assert faults == {"name": None, "gears": "many", "front.inches": "-1", "bell": "True"}


def test_a_file_is_written_once_and_read_with_a_hint(tmp_path: Path) -> None:
    path = tmp_path / "bike.toml"
    with pytest.raises(FormatError, match=r"cannot be read.*--init"):
        read_toml(path, hint="--init writes one")
    write_template('name = "tour"\n', path)
    assert read_toml(path, hint="") == {"name": "tour"}
    with pytest.raises(InputError, match="exists already"):
        write_template("", path)
    path.write_text("name = = 3")
    with pytest.raises(FormatError, match="not TOML"):
        read_toml(path, hint="")
