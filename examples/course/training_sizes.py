"""Draw how the training ceiling moves with the model: python training_sizes.py sizes.png

Useful efficiency over P for models of 7B to 1T parameters on h100-ib400; a dot marks the cap of data parallelism.
"""

from __future__ import annotations

import sys

from scalecurve.explorer.questions.training import nearest_shape
from scalecurve.training import plan_training
from scalecurve.training.answers.plan import Plan

SIZES = {"7B": 7e9, "13B": 13e9, "30B": 30e9, "70B": 70e9, "175B": 175e9, "405B": 405e9, "1T": 1e12}
GPUS = (64, 512, 2048, 4096, 8192, 16384, 32768)


def plans() -> dict[str, Plan]:
    """The plan of each size, with the batch chosen up to 16Mi tokens."""
    return {
        name: plan_training(
            nearest_shape(size), "h100-ib400", gpus=GPUS, batch="16Mi", critical_batch="zhang", seq=8192
        )
        for name, size in SIZES.items()
    }


def draw(swept: dict[str, Plan], path: str) -> None:
    """One line for each size, the larger the darker."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    for place, (name, plan) in enumerate(swept.items()):
        colour = colormaps["viridis_r"](0.15 + 0.85 * place / (len(swept) - 1))
        axes.plot(
            [row.gpus for row in plan.rows],
            [100 * row.useful_efficiency for row in plan.rows],
            color=colour,
            label=name,
        )
        cap = plan.row(plan.cap.accelerators) if plan.cap else None
        if cap is not None:
            axes.plot(cap.gpus, 100 * cap.useful_efficiency, "o", color=colour)
    axes.set(
        xscale="log", xlabel="GPUs", ylabel="useful work per GPU, % of the best", ylim=(0, 105),
        title="A larger model moves the cap (dot) to the right and lifts the curve",
    )  # fmt: skip
    axes.set_xticks(GPUS, [f"{gpus:,}" for gpus in GPUS])
    axes.minorticks_off()
    axes.legend(title="parameters")
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    draw(plans(), sys.argv[1] if len(sys.argv) > 1 else "sizes.png")
