"""Token counts to whole sequences and micro-batches, saying what was rounded."""

from __future__ import annotations

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


def count(value: float | str) -> float:
    """A number, or text with a decimal (4M) or binary (4Mi) suffix."""
    return parse_count(value) if isinstance(value, str) else float(value)


def whole_sequences(tokens: float | str, seq: int) -> Rounded:
    asked = count(tokens)
    if asked < seq:
        hint = f"a batch holds at least one sequence: {seq} tokens"
        raise InputError(Fault("the batch is smaller than one sequence", "batch", str(tokens), hint))
    return Rounded(asked, max(round(asked / seq), 1), seq)


def batch_sequences(batch: float | str, seq: int) -> int:
    """A global batch given in sequences, or in tokens when it is text with a suffix or too large to be sequences."""
    value = count(batch)
    suffixed = isinstance(batch, str) and not batch.strip().isdigit()
    if suffixed or value >= TOKENS_FROM:
        return whole_sequences(batch, seq).sequences
    if value < 1 or value != int(value):
        raise InputError(Fault("a batch is a whole number of sequences, or tokens with a suffix", "batch", str(batch)))
    return int(value)
