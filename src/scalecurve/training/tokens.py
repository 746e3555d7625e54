"""Token counts to whole sequences and micro-batches, saying what was rounded."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scalecurve.errors import Fault, InputError
from scalecurve.units import format_count, parse_count

TOKENS_FROM = 262_144  # a batch at least this large can only be meant in tokens


@dataclass(frozen=True)
class Rounded:
    """`asked` tokens as `sequences` whole sequences of `seq`."""

    asked: float
    sequences: int
    seq: int

    @property
    def tokens(self) -> int:
        return self.sequences * self.seq

    @property
    def sentence(self) -> str:
        exact = "exactly" if self.tokens == self.asked else f"rounded from {self.asked:,.0f}:"
        whole = f"{self.sequences:,} sequences of {self.seq:,} = {self.tokens:,} tokens"
        return f"{exact} {whole} ({format_count(self.tokens)})"


def count(value: float | str, name: str | None = None) -> float:
    """A number, or text with a decimal (4M) or binary (4Mi) suffix; infinities and NaN count nothing."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise InputError(Fault("not a count", name, repr(value), "write 4Mi, 1.5k or 70B"))
    try:
        number = parse_count(value) if isinstance(value, str) else float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InputError(Fault("a count is finite", name, str(value)))
    return number


def positive(value: float | str, name: str) -> float:
    number = count(value, name)
    if number <= 0:
        raise InputError(Fault("must be above 0", name, str(value)))
    return number


def sequence_length(seq: int | None, default: int) -> int:
    """The length asked for, or the model's."""
    if seq is None:
        return default
    number = count(seq, "seq")
    if number < 1 or not number.is_integer():
        raise InputError(Fault("a sequence is a whole number of tokens from 1", "seq", str(seq)))
    return int(number)


def whole_sequences(tokens: float | str, seq: int) -> Rounded:
    asked = count(tokens, "batch")
    if asked < seq:
        hint = f"a batch holds at least one sequence: {seq} tokens"
        raise InputError(Fault("the batch is smaller than one sequence", "batch", str(tokens), hint))
    return Rounded(asked, max(round(asked / seq), 1), seq)


def batch_sequences(batch: float | str, seq: int) -> int:
    """A global batch given in sequences, or in tokens when it is text with a suffix or too large to be sequences."""
    value = count(batch, "batch")
    suffixed = isinstance(batch, str) and not batch.strip().isdigit()
    if suffixed or value >= TOKENS_FROM:
        return whole_sequences(batch, seq).sequences
    if value < 1 or value != int(value):
        raise InputError(Fault("a batch is a whole number of sequences, or tokens with a suffix", "batch", str(batch)))
    return int(value)
