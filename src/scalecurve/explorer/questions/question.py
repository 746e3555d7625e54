"""One thing the page can ask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict


class Request(BaseModel):
    """What is asked; unknown fields are refused, so that a typing error is not silently ignored."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Nothing(Request):
    """A question without settings."""


@dataclass(frozen=True)
class Question:
    summary: str
    request: type[Request]
    answer: Callable[[Any], Any]
