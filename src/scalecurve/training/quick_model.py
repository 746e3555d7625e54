"""A model by its number of parameters alone, and the critical batch that goes with its data."""

from __future__ import annotations

from scalecurve.training.transformer import Transformer

VOCABULARY = 128_256
CHINCHILLA = 20.0  # tokens per parameter, Hoffmann et al. 2022


def transformer_of_size(parameters: float, seq: int) -> Transformer:
    """A plain decoder of about this size: width about 128 times depth, as published models have.

    12 L h^2 parameters in the layers (Kaplan et al. 2020); widths are multiples that tensor parallelism divides.
    """
    depth = (parameters / (12 * 128**2)) ** (1 / 3)
    step, head = (2048, 128) if depth * 128 >= 4096 else (512, 64)
    hidden = max(step, round(depth * 128 / step) * step)
    wanted = parameters / (12 * hidden**2)
    even = 16 if wanted >= 64 else 8 if wanted >= 24 else 4
    layers = max(even, round(wanted / even) * even)
    name = f"{parameters / 1e9:.3g}B by size"
    return Transformer(name=name, hidden=hidden, layers=layers, heads=hidden // head, vocab=VOCABULARY, seq=seq)


def critical_batch(tokens: float) -> float:
    """Critical batch in tokens after training on D tokens: 22.91 D^0.47.

    Zhang et al. 2024 (arXiv 2410.21676): it grows with the data and hardly with the model; critical means 20 % more
    steps than perfect scaling.  Published laws differ by a factor of eight at D = 1e12: a guide, not a constant.
    """
    return float(22.91 * tokens**0.47)
