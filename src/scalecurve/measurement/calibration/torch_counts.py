"""Counting a torch model's work: FLOPs by torch's own counter, bytes by the sizes of the tensors each operator touches.

Bytes are every input read once and every output written once: what moves if nothing stays in a cache, so an upper
bound of the traffic and a lower bound of the intensity.
"""

from __future__ import annotations

import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from scalecurve.errors import Fault, InputError, MissingExtra
from scalecurve.study.kernel import Kernel

VIEWS = frozenset(
    {"view", "reshape", "t", "transpose", "permute", "expand", "slice", "select", "unsqueeze", "squeeze", "detach",
     "alias", "split", "as_strided", "_unsafe_view", "unbind"}
)  # fmt: skip


def count_model(source: str, shape: tuple[int, ...]) -> tuple[Kernel, ...]:
    """Kernels of one forward pass of `module:model` on an input of `shape`, by operator, with their measured time."""
    try:
        import torch
    except ImportError:
        raise MissingExtra("counting a torch model", "torch") from None
    model = _load(source)
    given = torch.zeros(shape)
    with torch.no_grad():
        model(given)  # warm up: allocations and lazy parameters
        mode = _counting_mode()
        with mode:
            model(given)
    return tuple(
        Kernel(name=name, flops=row[0], moved={"memory": row[1]}, seconds=row[2], calls=int(row[3]))
        for name, row in sorted(mode.rows.items(), key=lambda item: -item[1][2])
    )


def _load(source: str) -> Any:
    name, _, attribute = source.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(import_module(name), attribute or "model")
    except (ImportError, AttributeError) as problem:
        hint = "write module:model, an attribute that is a torch module or a function that makes one"
        raise InputError(Fault(f"cannot be imported: {problem}", seen=source, remedy=hint)) from None
    finally:
        sys.path.pop(0)
    import torch

    model = found if isinstance(found, torch.nn.Module) else found()
    return model.eval()


def _counting_mode() -> Any:
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils.flop_counter import flop_registry

    class Counting(TorchDispatchMode):  # type: ignore[misc]  # torch is optional, so its classes are untyped here
        """Sees every operator with its real arguments."""

        def __init__(self) -> None:
            super().__init__()
            self.rows: dict[str, list[float]] = {}

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            begin = time.perf_counter()
            result = func(*args, **(kwargs or {}))
            seconds = time.perf_counter() - begin
            packet = func.overloadpacket
            name = str(packet).removeprefix("aten.")
            if name not in VIEWS:
                counter = flop_registry.get(packet)
                flops = float(counter(*args, **(kwargs or {}), out_val=result)) if counter else 0.0
                row = self.rows.setdefault(name, [0.0, 0.0, 0.0, 0.0])
                moved = sum(t.numel() * t.element_size() for t in _tensors(torch, (args, result)))
                for place, amount in enumerate((flops, float(moved), seconds, 1.0)):
                    row[place] += amount
            return result

    return Counting()


def _tensors(torch: Any, value: Any) -> list[Any]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, list | tuple):
        return [tensor for item in value for tensor in _tensors(torch, item)]
    return []
