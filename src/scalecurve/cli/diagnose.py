"""`scalecurve diagnose`: why the curve bends."""

from __future__ import annotations

import click

from scalecurve import api
from scalecurve.cli.inputs import study_options
from scalecurve.cli.output import Output, emit, output_options
from scalecurve.study import Study


@click.command()
@study_options
@output_options
def command(study: Study, output: Output) -> None:
    """Why the curve bends: communication, stragglers, imbalance, contention or the serial part.

    Uses the strongest evidence the study holds: phases of every worker, the workers' own times, or the shape and
    noise of T(K); from T(K) alone the answer may be "undetermined".
    """
    emit(api.diagnose(study), output)
