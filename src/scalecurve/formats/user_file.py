"""TOML files that people write by hand: one pydantic model gives the checks, the messages and the commented template.

A field's `description` is the comment beside it in the template and its first `examples` entry the value shown there;
a field without an example is left out, unless it is itself a section.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, FiniteFloat, ValidationError
from pydantic.fields import FieldInfo

from scalecurve.errors import Fault, FormatError, InputError, one_line
from scalecurve.study.file import faults_of
from scalecurve.units import parse_bandwidth, parse_bytes, parse_count, parse_seconds

COMMENT_COLUMN = 34

Model = TypeVar("Model", bound=BaseModel)


def parsed(parse: Callable[[str], Any]) -> BeforeValidator:
    """Accept text such as `350MB` as well as a number; a parser's message becomes a fault of the field."""

    def convert(value: Any) -> Any:
        try:
            return parse(value) if isinstance(value, str) else value
        except InputError as problem:
            raise ValueError(str(problem)) from None

    return BeforeValidator(convert)


Text = Annotated[str, AfterValidator(one_line)]  # control characters made visible: a name must not move a cursor
Positive = Annotated[FiniteFloat, Field(gt=0)]
Share = Annotated[FiniteFloat, Field(ge=0, le=1)]
Seconds = Annotated[Positive, parsed(parse_seconds)]
Bytes = Annotated[Positive, parsed(parse_bytes)]
Bandwidth = Annotated[Positive, parsed(parse_bandwidth)]
Count = Annotated[Positive, parsed(parse_count)]
Whole = Annotated[int, Field(ge=1)]


class FileSection(BaseModel):
    """A part of such a file: it cannot be changed after reading, and a field it does not know is a fault."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)  # built on first use, not on import


def validate(model: type[Model], data: dict[str, Any], *, subject: str) -> Model:
    """The model of `data`, or one FormatError that lists every fault."""
    try:
        return model.model_validate(data)
    except ValidationError as problem:
        raise FormatError(faults_of(problem), subject=subject) from None
    except InputError as problem:
        raise FormatError(problem.faults, subject=subject) from None


def template(model: type[BaseModel], head: str, *, filled: Collection[str]) -> str:
    """A file to fill in: fields named in `filled` are set, all others are commented out.

    A section is commented out too where it is optional (`Part | None`) or repeated (`tuple[Part, ...]`).
    """
    lines = [*(f"# {line}" for line in head.splitlines()), ""]
    sections: list[str] = []
    for name, field in model.model_fields.items():
        kinds = (field.annotation, *get_args(field.annotation))
        section = next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None)
        if section is not None:
            repeated = section is not field.annotation and type(None) not in kinds
            header = f"[[{name}]]" if repeated else f"[{name}]"
            sections += ["", _commented(header if section is field.annotation else f"# {header}", field.description)]
            sections += [_field_line("# ", key, part) for key, part in section.model_fields.items() if part.examples]
        elif field.examples:
            lines.append(_field_line("" if name in filled else "# ", name, field))
    return "\n".join([*lines, *sections]) + "\n"


def _field_line(mark: str, name: str, field: FieldInfo) -> str:
    example = field.examples[0] if field.examples else ""
    return _commented(f"{mark}{name} = {_toml(example)}", field.description)


def _commented(text: str, comment: str | None) -> str:
    return f"{text:<{COMMENT_COLUMN - 2}}  # {comment}" if comment else text


def _toml(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(_toml(item) for item in value)}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key} = {_toml(item)}' for key, item in value.items())} }}"
    return json.dumps(value, ensure_ascii=False)


def write_template(text: str, path: Path) -> None:
    """Write a template; a file that exists is left alone."""
    from scalecurve.study.atomic import write_atomically

    if path.exists():
        raise InputError(Fault("the file exists already", value=str(path), remedy="name another, or remove it"))
    write_atomically(path, text.encode())
