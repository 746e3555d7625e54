"""The sweep: caps, charge for the batch, marks, regimes, objectives, bad input."""

from __future__ import annotations

import json
import math
import random
import shlex

import pytest

from scalecurve.cli.main import run
from scalecurve.errors import InputError
from scalecurve.render.terminal import to_text
from scalecurve.training import evaluate_layout, plan_training
from scalecurve.training.answers.plan import plan as answer
from scalecurve.training.inputs.request import PlanRequest, batch_sequences, read_request, whole_sequences
from scalecurve.training.inputs.transformer import models
from scalecurve.training.physics.run import Reliability, goodput, young_daly
from scalecurve.units import format_seconds

SWEEP = [32, 64, 128, 256, 512, 1024, 2048, 4096]


@pytest.fixture(scope="module")
def plan():
    return plan_training("llama3-70b", "h100-ib400", gpus=SWEEP, batch="fixed:4Mi", critical_batch="8Mi", seq=8192)


def whole(plan) -> str:
    """The text with its details, as --verbose prints it, in one line."""
    return " ".join(to_text(plan.document(), whole=True).split())


def test_a_plan_keeps_its_promises_to_the_outside(plan):
    data = json.loads(json.dumps(plan.to_dict(), allow_nan=False))
    assert {"rows", "dp_cap", "critical_batch_tokens", "cost_effective_gpus", "findings"} <= set(data)
    row = data["rows"][0]
    assert {"gpus", "layout", "step_seconds", "step_low", "step_high", "breakdown", "comm_frac", "comm_share"} <= set(
        row
    )
    assert {"efficiency", "mfu", "memory_bytes", "tokens_per_second", "usd_per_billion_tokens"} <= set(row)
    assert {"dp", "tp", "pp", "cp", "ep", "micro_batch", "accumulation", "zero", "recompute"} <= set(row["layout"])


def test_efficiency_is_one_over_one_plus_comm_frac(plan):
    for row in plan.rows:
        outcome = row.outcome
        assert outcome.efficiency == pytest.approx(1 / (1 + outcome.comm_frac))
        assert outcome.to_dict()["comm_share"] == pytest.approx(outcome.comm_frac / (1 + outcome.comm_frac))
        assert outcome.step.low < outcome.seconds < outcome.step.high


def test_the_fixed_batch_is_kept_and_both_caps_are_named(plan):
    assert {row.outcome.tokens for row in plan.rows} == {4 * 2**20}
    replica = plan.cap.accelerators_per_replica
    assert plan.cap.replicas * plan.cap.sequences_per_replica == 512
    assert plan.cap.accelerators == plan.cap.replicas * replica
    assert plan.statistical_cap == 2 * plan.granularity_cap
    assert plan.cap.formula == f"4.194M tokens / 8,192 = 512 replicas x {replica} accelerators = {512 * replica:,}"
    names = {mark.name for mark in plan.marks}
    assert {"statistical cap", "granularity cap", "node boundary", "cost-effective scale"} == names


def test_a_result_says_its_answer_in_one_line(plan):
    row = plan.row(plan.cost_effective_gpus)
    assert repr(plan) == plan.answer.decision
    assert plan.answer.decision.startswith(f"Use {row.gpus:,} GPUs: {format_seconds(row.run_seconds)}, $")
    assert f"doubling to {2 * row.gpus:,} saves" in plan.answer.decision
    assert len(plan.answer.decision) <= 120
    assert len(str(plan).splitlines()) <= 24


def test_throughput_rises_and_efficiency_decays_with_p(plan):
    rates = [row.outcome.tokens_per_second for row in plan.rows]
    assert rates == sorted(rates)
    assert plan.rows[-1].outcome.efficiency < plan.rows[0].outcome.efficiency


def test_a_batch_beyond_the_critical_one_is_charged():
    job = {"gpus": [64], "critical_batch": "4Mi", "seq": 8192, "tokens": "1T"}
    large = plan_training("llama3-8b", "h100", batch="fixed:16Mi", **job)
    [row] = large.rows
    assert row.tokens_factor == pytest.approx(1 + 16 / 4)
    assert row.run_tokens == pytest.approx(5e12)
    assert row.effective_tokens_per_second == pytest.approx(row.outcome.tokens_per_second / 5)
    assert row.raw_run_seconds == pytest.approx(row.run_seconds / 5)
    [note] = [note for note in large.findings if note.code == "wasted-tokens"]
    assert "80 % of the tokens are wasted" in note.message
    small = plan_training("llama3-8b", "h100", batch="16Mi", **job).rows[0]
    assert small.outcome.tokens < 4 * 2**20
    assert small.run_usd < row.run_usd / 2


def test_the_batch_is_chosen_at_each_p_and_grows_with_it():
    job = {"gpus": [8, 32, 128, 512], "critical_batch": "2Mi", "seq": 8192}
    chosen = plan_training("llama3-8b", "h100", batch="16Mi", **job)
    batches = [row.outcome.tokens for row in chosen.rows]
    assert batches == sorted(batches)
    assert batches[0] < 2**20 <= batches[-1] <= 2**22
    for row in chosen.rows:
        held = plan_training("llama3-8b", "h100", batch=f"fixed:{row.outcome.tokens}", **job).row(row.gpus)
        assert held.run_seconds == row.run_seconds
        for factor in (0.5, 2):  # no neighbour reaches the target sooner
            other = plan_training("llama3-8b", "h100", batch=f"fixed:{factor * row.outcome.tokens:.0f}", **job)
            assert other.row(row.gpus).run_seconds >= row.run_seconds
    unlimited = plan_training("llama3-8b", "h100", batch_grows=True, **job)
    assert all(row.run_seconds >= other.run_seconds for row, other in zip(chosen.rows, unlimited.rows, strict=True))
    with pytest.raises(InputError, match="needs a critical batch"):
        plan_training("llama3-8b", "h100", gpus=8, batch_grows=True)


def test_a_recipe_that_is_known_is_the_target():
    """15T tokens at 16Mi: at that batch the time is that of 15T tokens; a quarter of it needs fewer."""
    job = {"gpus": [1024], "critical_batch": "16Mi", "seq": 8192}
    known = plan_training("llama3-8b", "h100", batch="fixed:16Mi", tokens="15T@16Mi", **job)
    assert known.rows[0].run_tokens == pytest.approx(15e12)
    assert known.rows[0].run_seconds == pytest.approx(known.rows[0].raw_run_seconds)
    assert "15T tokens at a batch of 16.78M" in whole(known)
    smaller = plan_training("llama3-8b", "h100", batch="fixed:4Mi", tokens="15T@16Mi", **job)
    assert smaller.rows[0].run_tokens == pytest.approx(15e12 * 1.25 / 2)
    plain = plan_training("llama3-8b", "h100", batch="fixed:16Mi", tokens="15T", **job)
    assert plain.rows[0].run_tokens == pytest.approx(30e12)


def test_growth_starts_where_the_job_first_fits():
    plan = plan_training("llama3-70b", "h100-ib400", gpus=[4, 8, 64, 128], batch="1Mi", seq=8192, weak=True)
    assert [row.gpus for row in plan.rows] == [64, 128]
    assert plan.rows[0].outcome.tokens == 2**20
    assert plan.rows[0].outcome.job.model.name == "llama3-70b"
    assert "parameters" in str(plan)[str(plan).index("GPUs  ") :].splitlines()[0]


def test_weak_scaling_holds_efficiency_where_strong_scaling_decays():
    plan = plan_training("llama3-8b", "h100-ib400", gpus=[64, 512, 2048], batch="1Mi", seq=8192, weak=True)
    assert [row.gpus for row in plan.strong] == [row.gpus for row in plan.rows]
    assert plan.rows[-1].outcome.mfu > 1.5 * plan.strong[-1].outcome.mfu
    assert plan.rows[-1].outcome.job.model.parameters > 4 * plan.rows[0].outcome.job.model.parameters
    weak, fixed = plan.rows[-1].speedup, plan.strong[-1].speedup
    assert plan.answer.decision == (
        f"At 2,048 GPUs grow the model: {weak:.1f}x the useful work of 64; the fixed job {fixed:.1f}x."
    )


def test_compute_optimal_loss_falls_with_p():
    plan = plan_training("llama3-8b", "h100", gpus=[64, 256, 1024], batch="4Mi", seq=8192, compute_optimal="chinchilla")
    losses = [row.optimal.loss for row in plan.rows]
    assert losses == sorted(losses, reverse=True)
    assert plan.rows[0].optimal.parameters * 20 == pytest.approx(plan.rows[0].optimal.tokens, rel=0.9)
    small = plan_training("mpt-1b", "h100-ib400", gpus="64..4096", batch="1Mi", seq=2048, compute_optimal="chinchilla")
    assert small.answer.decision.startswith(f"On {small.cost_effective_gpus:,} GPUs train ")
    assert "stops paying there" in small.answer.reason


def test_a_budget_ends_the_better_model_where_more_accelerators_only_train_shorter():
    """From the P on whose month costs the budget, more of them compute less for the same dollars."""
    job = {"batch": "4Mi", "seq": 8192, "compute_optimal": "chinchilla", "deadline": "10d", "budget": "200k"}
    plan = plan_training("llama3-8b", "mi300x-ib400", gpus="8..2048", **job)
    best = min(plan.rows, key=lambda row: row.optimal.loss)
    assert plan.cost_effective_gpus <= best.gpus < 2048
    assert "stops paying there" in plan.answer.reason
    assert all(row.optimal_usd <= 200_001 for row in plan.rows)
    short = plan_training("llama3-8b", "mi300x-ib400", gpus="8..512", **job)
    assert short.cost_effective_gpus == plan.cost_effective_gpus
    assert "still pay" not in short.answer.next


def test_objectives_deadline_and_budget(plan):
    settings = {"gpus": SWEEP, "batch": "4Mi", "seq": 8192}
    fast = plan_training("llama3-70b", "h100-ib400", objective="time", **settings)
    cheap = plan_training("llama3-70b", "h100-ib400", objective="cost", **settings)
    assert fast.chosen_gpus == max(row.gpus for row in fast.rows)
    assert cheap.chosen_gpus < fast.chosen_gpus
    none = plan_training("llama3-70b", "h100-ib400", deadline=60.0, **settings)
    assert none.chosen_gpus is None
    missed = next(finding for finding in none.findings if finding.code == "nothing-within-limits")
    assert "deadline of 60 s (chance below 1 %); the nearest is 4,096 GPUs" in missed.message
    assert plan.choice is None
    month = plan_training("llama3-70b", "h100-ib400", deadline=30 * 86400.0, budget=5e6, **settings)
    assert month.choice.startswith(
        f"Best by time within the deadline of 30 d and 5,000,000 USD: {month.chosen_gpus:,} GPUs"
    )
    assert month.choice in whole(month)
    chosen = month.row(month.chosen_gpus)
    assert chosen.run_seconds <= 30 * 86400
    assert chosen.run_usd <= 5e6


def test_a_sweep_that_ends_too_early_does_not_claim_a_drop():
    ended = plan_training("llama3-8b", "h100", gpus=[64, 128, 256, 512, 1024], batch="512Ki", seq=8192)
    assert "still pay" not in ended.answer.next
    short = plan_training("llama3-8b", "h100", gpus=[8, 16, 32], batch="4Mi", seq=8192)
    assert short.cost_effective_gpus == 32
    assert short.answer.next.startswith("doublings still pay at 32: `scalecurve plan --model llama3-8b ")
    assert "--gpus 64,128" in short.answer.next
    assert "every doubling up to here gives 1.7x" in whole(short)
    assert "from here on" not in whole(short)


def test_the_definition_of_the_critical_batch_is_told():
    job = {"gpus": [64], "batch": "4Mi", "seq": 8192}
    plan = plan_training("llama3-8b", "h100", critical_batch="8Mi", definition="overhead", **job)
    said = plan.to_dict()["critical_batch"]
    assert (said["definition"], said["given_as"], said["given_tokens"]) == ("double", "overhead", 8 * 2**20)
    assert said["tokens"]["value"] == pytest.approx(5 * 8 * 2**20)
    words = "41.94M tokens (where a run needs twice the data; 8.389M where it needs 20 % more)"
    assert plan.critical.equivalent in words
    law = plan_training("llama3-8b", "h100", critical_batch="zhang", **job).to_dict()["critical_batch"]
    assert (law["definition"], law["given_as"]) == ("double", "overhead")
    assert "equivalent" not in str(plan_training("llama3-8b", "h100", critical_batch="8Mi", **job))


def test_alternatives_are_shown_and_differ():
    plan = plan_training("llama3-8b", "h100", gpus=[8, 64], batch="1Mi", seq=8192, top=6)
    assert "Alternatives" in whole(plan)
    for row in plan.rows:
        pairs = [(f"{one.seconds:.6g}", f"{one.memory_bytes:.6g}") for one in (row.outcome, *row.alternatives)]
        assert len(set(pairs)) == len(pairs) == 6


def test_goodput_factors_are_separate_and_switchable():
    both = goodput(16384, Reliability())
    assert 0.7 < both.factor < 1.0
    assert both.factor == pytest.approx(both.failures * both.checkpoints * both.stragglers)
    assert goodput(16384, Reliability(device_hours=None)).failures == 1.0
    assert goodput(16384, Reliability(step_spread=None)).stragglers == 1.0
    assert goodput(16384, Reliability()).factor < goodput(1024, Reliability()).factor


def test_a_checkpoint_takes_what_the_model_and_the_storage_say():
    """Llama 3 405B: more than 90 % of the time counted (Llama team 2024, section 3.3.4)."""
    states = 14 * 405e9
    large = goodput(16384, Reliability(), states=states)
    assert large.factor > 0.90
    slow = goodput(16384, Reliability(storage_gb_s=0.01), states=states)
    still = goodput(16384, Reliability(copy_gb_s=0), states=states)
    assert slow.factor < still.factor < large.factor
    assert goodput(16384, Reliability(checkpoint_seconds=60.0), states=states).checkpoints < large.checkpoints


def test_a_plan_and_its_layout_agree():
    job = {"seq": 8192, "batch": 65536}
    row = plan_training("llama3-8b", "h100", gpus=[8], **job).rows[0]
    alone = evaluate_layout("llama3-8b", "h100", row.outcome.layout, seq=8192)
    assert alone.outcome.step == row.outcome.step
    assert alone.memory_bytes == row.outcome.memory_bytes
    sharded = evaluate_layout("llama3-8b", "h100", "dp=8,zero=3", batch=8, seq=8192)
    assert sharded.outcome.job.stack == row.outcome.job.stack


def random_jobs(count: int) -> list[dict[str, object]]:
    rng = random.Random(7)
    names, clusters = (
        sorted(models()),
        ["h100-ib400", "a100", "h800", "gb200-nvl72", "mi300x", "tpu-v5p", "v100", "gaudi3"],
    )
    return [
        {
            "model": rng.choice(names), "cluster": rng.choice(clusters), "gpus": rng.choice([8, 24, 64, 256, 1008]),
            "batch": f"{rng.choice([32, 48, 96, 256, 504])} sequences", "seq": rng.choice([None, 2048, 8192, 32768]),
            "stack": rng.choice([None, "fsdp", "megatron-core", "deepspeed-zero3"]), "adapters": rng.random() < 0.1,
        }
        for _ in range(count)
    ]  # fmt: skip


def test_every_layout_that_a_plan_prints_is_evaluated_as_the_plan_did():
    agreed = 0
    for job in random_jobs(40):
        gpus = job.pop("gpus")
        try:
            row = plan_training(**job, gpus=[gpus], top=2).rows[0]
        except InputError:  # it does not fit, or the batch does not divide
            continue
        for outcome in (row.outcome, *row.alternatives):
            for written in (outcome.layout.short(), outcome.layout):
                alone = evaluate_layout(layout=written, **job | {"batch": f"{outcome.layout.sequences} sequences"})
                assert alone.outcome.layout == outcome.layout
                assert alone.step_seconds == pytest.approx(outcome.seconds, rel=1e-9)
                assert alone.outcome.step.high == pytest.approx(outcome.step.high, rel=1e-9)
                assert alone.memory_bytes == pytest.approx(outcome.memory_bytes, rel=1e-9)
        agreed += 1
    assert agreed > 20


def test_a_batch_that_is_not_given_is_the_usual_one_and_said():
    plan = plan_training("llama3-8b", "h100-ib400", gpus=[64, 4096], seq=8192)
    assert plan.batch_choice.largest.tokens == 2**22
    assert [note.code for note in plan.findings if note.code == "usual-batch"]
    for gpus in (96, 1000):  # 512 sequences are shared badly: fewer are taken, and no accelerator stays idle
        [row] = plan_training("llama3-8b", "h100-ib400", gpus=gpus, seq=8192).rows
        assert 400 < row.outcome.layout.sequences <= 512
        assert row.idle == 0


def test_more_accelerators_never_do_less_useful_work():
    """A small model on many accelerators: from some P on the rest stays idle, and is paid for."""
    plan = plan_training("mpt-125m", "h100-ib400", gpus="64..16384", batch="256Ki", critical_batch="256Ki", seq=2048)
    work = [row.useful_work for row in plan.rows]
    assert work == sorted(work)
    last = plan.rows[-1]
    assert last.idle > 0
    assert last.run_usd == pytest.approx(last.gpus * last.run_seconds / 3600 * plan.basis.cluster.usd_per_gpu_hour)
    assert "idle-accelerators" in {note.code for note in plan.findings}
    assert plan_training("mpt-125m", "h100-ib400", gpus=16384, batch="256Ki", critical_batch="256Ki", seq=2048).rows[
        0
    ].outcome == (last.outcome)


def test_adapters_without_tokens_have_no_end():
    plan = plan_training("llama3-70b", "h100", gpus=8, batch="64 sequences", adapters=True)
    assert plan.rows[0].run_seconds is None
    assert "tokens/s" in plan.answer.decision
    assert "USD" not in str(plan)
    stated = plan_training("llama3-70b", "h100", gpus=8, batch="64 sequences", adapters=True, tokens="100M")
    assert stated.rows[0].run_seconds > 0


def test_a_growing_model_is_split_in_few_ways():
    plan = plan_training("llama3-8b", "h100-ib400", gpus="8..2048", seq=8192, batch="1Mi", weak=True)
    assert len({(row.outcome.layout.tp, row.outcome.layout.pp, row.outcome.layout.cp) for row in plan.rows}) <= 7


def test_the_usual_stack_is_that_of_the_accelerator():
    names = {
        "tpu-v6e": "maxtext",
        "gaudi2": "gaudi",
        "trainium1": "neuron",
        "mi300x": "primus",
        "h100": "megatron-core",
    }
    for chip, name in names.items():
        assert evaluate_layout("llama3-8b", chip, "dp=64,zero=1", batch=64).outcome.job.stack.name == name


def test_a_batch_that_does_not_divide_is_answered_with_the_nearest_that_does():
    """512 sequences over 1,000 accelerators: held fixed, some stay idle, and the nearest that divides is named."""
    fixed = plan_training("llama3-8b", "h100", gpus=[1000], batch="fixed:4Mi", seq=8192)
    assert fixed.rows[0].outcome.tokens == 2**22
    [note] = [note for note in fixed.findings if note.code == "idle-accelerators"]
    assert f"{fixed.rows[0].idle:,} stay idle" in note.message
    assert plan_training("llama3-8b", "h100", gpus=[1000], batch="4Mi", seq=8192).rows[0].outcome.tokens == 4096000


def test_a_deadline_is_met_with_a_probability():
    job = {"gpus": [512], "batch": "4Mi", "seq": 8192, "tokens": "1T"}
    days = plan_training("llama3-70b", "h100", **job).rows[0].run_seconds / 86400
    even = plan_training("llama3-70b", "h100", deadline=f"{days * 1.001}d", **job)
    assert "probability of 50 %" in even.choice
    assert "limits-uncertain" in {finding.code for finding in even.findings}
    late = plan_training("llama3-70b", "h100", deadline=f"{days * 3}d", **job)
    assert "limits-uncertain" not in {finding.code for finding in late.findings}


def test_a_budget_is_kept_with_a_probability_like_a_deadline():
    job = {"gpus": [512], "batch": "4Mi", "seq": 8192, "tokens": "1T"}
    price = plan_training("llama3-70b", "h100", **job).rows[0].run_usd
    for limits in ({"budget": price * 1.001}, {"budget": price * 1.001, "deadline": "9999d"}):
        even = plan_training("llama3-70b", "h100", **job, **limits)
        assert "probability of 50 %" in even.choice
        [note] = [finding for finding in even.findings if finding.code == "limits-uncertain"]
        assert "larger budget" in note.remedy
    ample = plan_training("llama3-70b", "h100", budget=3 * price, **job)
    assert "limits-uncertain" not in {finding.code for finding in ample.findings}


def test_a_deadline_that_the_largest_count_misses_is_answered():
    plan = plan_training("llama3-70b", "h100-ib400", gpus=[131072], batch="4Mi", deadline="1h")

    assert "131,072 GPUs" in plan.choice
    assert "chance below 1 %" in plan.answer.decision


def test_speedups_share_the_error_of_their_steps(plan):
    note = next(finding for finding in plan.findings if finding.code == "strong-scaling")
    low, high = (float(part) for part in note.message.split("(")[-1].rstrip(")").split(" to "))
    step = plan.rows[0].outcome.step
    assert high / low < (step.high / step.low)


def test_weak_scaling_charges_the_batch_against_its_own_critical_batch():
    plan = plan_training(
        "llama3-8b", "h100", gpus=[64, 256, 1024, 4096], batch="2Mi", critical_batch="8Mi", seq=8192, weak=True
    )
    sizes = [row.outcome.job.model.parameters for row in plan.rows]
    assert sizes == sorted(set(sizes))  # every step of P has its own model
    factors = [row.tokens_factor for row in plan.rows]
    for row in plan.rows[1:]:
        assert row.tokens_factor < 1 + row.outcome.tokens / (8 * 2**20)
    assert max(factors) < 2.01


def test_young_daly_minimises_the_loss():
    cost, mean = 60.0, 10_000.0
    best = young_daly(cost, mean)
    loss = lambda interval: cost / (interval + cost) + (interval + cost) / 2 / mean  # noqa: E731
    assert loss(best) <= min(loss(best * 0.9), loss(best * 1.1))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"model": "llama3-71b"}, ["unknown model", "llama3-70b"]),
        ({"cluster": "h101"}, ["unknown cluster", "h100"]),
        ({"stack": "megatron-xl"}, ["unknown stack", "megatron-lm"]),
        ({"batch": "100 tokens"}, ["smaller than one sequence"]),
        ({"critical_batch": "kaplen"}, ["unknown critical batch", "kaplan"]),
        ({"critical_batch": "kaplan", "loss": 0.0}, ["loss above 0"]),
        ({"critical_batch": "kaplan", "loss": -3.0}, ["loss above 0"]),
        ({"critical_batch": "kaplan", "loss": float("nan")}, ["loss", "finite"]),
        ({"critical_batch": "kaplan", "loss": 1e-300}, ["gives no batch"]),
        ({"deadline": 0.0, "budget": -5.0}, ["a deadline is above 0", "a budget is above 0"]),
        ({"seq": 0}, ["from 1", "seq"]),
        ({"seq": -8192}, ["from 1", "seq"]),
        ({"tokens": 0}, ["above 0", "tokens"]),
        ({"tokens": "1e400"}, ["too large"]),
        ({"tokens": float("inf")}, ["finite", "tokens"]),
        ({"batch": float("nan")}, ["finite", "batch"]),
        ({"batch": float("inf")}, ["finite", "batch"]),
        ({"batch": [1]}, ["not a count", "batch"]),
        ({"gpus": "eight"}, ["not a worker count"]),
        ({"gpus": [64, 0]}, ["not a worker count"]),
        ({"gpus": [64.5]}, ["not a worker count"]),
        ({"gpus": None}, ["no accelerator counts"]),
        ({"model": 7}, ["not a model"]),
        ({"cluster": None}, ["not a cluster"]),
        ({"top": 0}, ["at least one layout"]),
        ({"critical_batch": "8Mi", "definition": "optimal"}, ["unknown definition", "double or overhead"]),
        ({"objective": "fame"}, ["unknown objective"]),
        ({"precision": "fp8", "cluster": "a100"}, ["no fp8"]),
        ({"gpus": []}, ["no worker counts"]),
        ({"gpus": [8]}, ["does not fit", "GiB usable", "fits from"]),
        ({"batch": "held:4Mi"}, ["not a batch", "fixed:4Mi"]),
        ({"tokens": "15T@"}, ["not a count"]),
        ({"learning_rate": "3e-4"}, ["needs its batch", "3e-4@4Mi"]),
        ({"critical_batch": "nowhere.json"}, ["nowhere.json", "cannot be read"]),
    ],
)
def test_bad_input_says_what_and_the_way_out(settings, words):
    given = {"model": "llama3-70b", "cluster": "h100-ib400", "gpus": [64], "batch": "4Mi", "seq": 8192} | settings
    with pytest.raises(InputError) as caught:
        plan_training(given.pop("model"), given.pop("cluster"), **given)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("gpus", [64, "64", (64,), "64,64"])
def test_one_count_of_accelerators_may_be_written_plainly(gpus):
    plan = plan_training("llama3-8b", "h100", gpus=gpus, batch="1Mi", seq=8192)
    assert [row.gpus for row in plan.rows] == [64]


def test_tokens_take_both_kinds_of_suffix_and_rounding_is_said():
    assert whole_sequences("4Mi", 8192).sequences == 512
    rounded = whole_sequences("4M", 8192)
    assert (rounded.sequences, rounded.tokens) == (488, 488 * 8192)
    assert "rounded from 4,000,000" in rounded.sentence
    assert batch_sequences(512, 8192) == 512
    assert batch_sequences("4Mi", 8192) == 512


def test_a_plan_file_is_read_and_options_win(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text('model = "llama3-8b"\ncluster = "h100"\ngpus = "8..32"\nseq = 8192\nglobal_batch = "1Mi"\n')
    plan = answer(read_request({"global_batch": "2Mi"}, file=path))
    assert [row.gpus for row in plan.rows] == [8, 16, 32]
    assert plan.rows[0].outcome.tokens == 2**21
    path.write_text("modle = 1\nclster = 2\n")
    with pytest.raises(InputError) as caught:
        read_request({}, file=path)
    assert "modle" in str(caught.value)
    assert "clster" in str(caught.value)


def test_missing_parts_are_all_named():
    with pytest.raises(InputError) as caught:
        read_request({})
    assert all(name in str(caught.value) for name in ("model", "cluster", "gpus"))


def test_explain_fills_in_every_term(plan):
    asked = {"model": "llama3-70b", "cluster": "h100-ib400", "gpus": "64,128", "seq": 8192, "global_batch": "4Mi"}
    text = whole(answer(PlanRequest(**asked, explain=128)))
    for word in ("compute", "bubble", "tensor", "data", "optimizer", "evidence", "What this leaves out", "90 %"):
        assert word in text


@pytest.mark.parametrize("layout", ["tp=8,pp=4,dp=4,zero=1", "dp=64,zero=3", "tp=8,dp=8,recompute=full"])
def test_the_numbers_of_an_explanation_multiply_to_its_values(layout):
    job = {"model": "llama3-70b", "cluster": "h100-ib400", "seq": 8192, "global_batch": "4Mi", "layout": layout}
    found = answer(PlanRequest(**job, explain=1))
    numbers = {part.name: part.numbers for part in found.parts}
    assert "traffic" in numbers["data"]
    assert ("gathering" in numbers["data"]) == ("zero=3" in layout)
    size, _, held = numbers["memory: weights"].partition(" x ")
    factor = {"B": 1e9, "M": 1e6}[held.split()[0][-1]]
    assert float(size) * float(held.split()[0][:-1]) * factor == pytest.approx(
        found.outcome.memory["weights"], rel=1e-3
    )
    assert "/s" in numbers["optimizer"]
    assert "layers" in numbers["memory: activations"]


def test_a_model_by_its_sizes_on_the_command_line():
    spelled = evaluate_layout(model="hidden=4096,layers=32,heads=32", cluster="a100", layout={"tp": 8}, batch=8)
    named = evaluate_layout(
        model={"hidden": 4096, "layers": 32, "heads": 32}, cluster="a100", layout={"tp": 8}, batch=8
    )
    assert spelled.to_dict()["step_seconds"] == named.to_dict()["step_seconds"]
    with pytest.raises(InputError, match="not a size of a model"):
        evaluate_layout(model="hidden=,layers=32", cluster="a100", layout={"tp": 8}, batch=8)


@pytest.mark.parametrize("gpus", [96, 1536])
def test_stages_that_are_not_all_equal_share_a_batch_over_odd_counts(gpus):
    best = plan_training("llama3-8b", "h100-ib400", gpus=gpus, batch="fixed:4Mi", seq=8192)
    [row] = best.rows
    assert row.outcome.layout.pp == 3 or row.idle
    assert row.outcome.tokens == 2**22


def test_a_batch_means_the_same_in_every_verb():
    assert [batch_sequences(text, 8192) for text in ("512 sequences", "512seq", "4Mi tokens", "4Mi", 2**22, 512)] == [
        512
    ] * 6
    assert batch_sequences(65536, 8192) == 8
    plan = plan_training("llama3-8b", "h100", gpus=8, batch="8 sequences", seq=8192)
    layout = plan.rows[0].outcome.layout
    assert plan.batch_choice.largest.tokens == 65536
    alone = evaluate_layout("llama3-8b", "h100", layout, batch="64Ki tokens", seq=8192, stack="megatron-core")
    assert alone.outcome.tokens == 65536
    with pytest.raises(InputError, match="'20000 sequences' or '20000 tokens'"):
        batch_sequences(20000, 8192)
    with pytest.raises(InputError, match="smaller than one sequence"):
        batch_sequences("1000 tokens", 8192)


def test_tokens_and_price_behind_a_run_are_said():
    plan = plan_training("llama3-8b", "h100", gpus=8, batch="1Mi", seq=8192)
    basis = plan.to_dict()["run_basis"]
    assert basis["tokens"] == pytest.approx(20 * plan.rows[0].outcome.job.model.active_parameters)
    assert basis["tokens_per_active_parameter"] == 20
    assert basis["usd_per_gpu_hour"] > 0
    assert "20 per active parameter" in plan.basis.sentence
    assert "SkyPilot" in plan.basis.sentence
    given = plan_training("llama3-8b", "h100", gpus=8, batch="1Mi", seq=8192, tokens="1T", price=2.5)
    assert given.basis.sentence == "Run and USD: 1T tokens as given at 2.5 USD per accelerator-hour (given)."


def test_a_gradient_noise_file_is_a_critical_batch(tmp_path):
    """Samples are sequences; the interval of the noise becomes that of the cap."""
    path = tmp_path / "noise.json"
    job = {"gpus": [64], "batch": "64Mi", "seq": 8192}
    found = {
        "code": "gradient-noise-scale",
        "severity": "info",
        "message": "",
        "evidence": {"value": 256, "low": 128, "high": 512, "level": 0.95},
    }
    path.write_text(json.dumps({"findings": [found]}))
    plan = plan_training("llama3-8b", "h100", critical_batch=str(path), **job)
    assert plan.critical.tokens.value == 256 * 8192
    assert (plan.cap.low, plan.cap.accelerators, plan.cap.high) == (128, 256, 512)
    assert "ends at 256 replicas" in plan.answer.reason
    path.write_text(json.dumps({"tokens": 2**21}))
    assert plan_training("llama3-8b", "h100", critical_batch=str(path), **job).critical.tokens.value == 2**21
    for wrong in ("[]", '{"tokens": -1}', '{"tokens": "many"}', "{"):
        path.write_text(wrong)
        with pytest.raises(InputError, match=r"noise\.json"):
            plan_training("llama3-8b", "h100", critical_batch=str(path), **job)


def test_the_learning_rate_follows_the_batch():
    """Square root for Adam (You et al. 2019), linear for SGD (Goyal et al. 2017)."""
    plan = plan_training("llama3-8b", "h100", gpus=64, batch="fixed:16Mi", seq=8192, learning_rate="3e-4@4Mi")
    assert plan.learning.square_root(2**24) == pytest.approx(6e-4)
    assert plan.learning.linear(2**24) == pytest.approx(1.2e-3)
    assert "x2 (square root)" in whole(plan)
    assert "LAMB" in whole(plan)
    assert plan_training("llama3-8b", "h100", gpus=64, batch="fixed:16Mi", seq=8192).learning is None


def test_goodput_has_a_column_and_a_sentence():
    swept = plan_training("llama3-8b", "h100", gpus=[64], batch="4Mi", reliability=True)
    assert "goodput" in str(swept)
    assert "stragglers take" in whole(swept)
    assert (
        "goodput" not in to_text(plan_training("llama3-8b", "h100", gpus=[64], batch="4Mi").document()).split("Left")[0]
    )
    assert swept.records()[0]["goodput"] == swept.rows[0].goodput.factor


def test_limits_that_no_p_keeps_end_in_a_command_that_does(capsys):
    asked = {"gpus": [8, 16], "batch": "4Mi"}
    for limits in ({"deadline": "1d"}, {"budget": 5000}, {"deadline": "1d", "budget": 5000}, {"deadline": "1h"}):
        swept = plan_training("llama3-8b", "h100", **asked, **limits)
        assert swept.chosen_gpus is None
        [note] = [note for note in swept.findings if note.code == "nothing-within-limits"]
        words = shlex.split((note.remedy or "").partition("scalecurve ")[2])
        assert run([*words, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["chosen_gpus"]


def test_adapters_need_less_time_memory_and_flop_than_the_whole_model():
    asked = {"gpus": 16, "batch": "16 sequences", "seq": 4096, "tokens": "1B"}
    whole, adapters = (plan_training("llama3-8b", "h100", adapters=kind, **asked) for kind in (False, True))
    assert adapters.rows[0].step_seconds < 0.8 * whole.rows[0].step_seconds
    assert adapters.rows[0].mfu == pytest.approx(whole.rows[0].mfu, rel=0.25)
    assert [finding.code for finding in adapters.findings if finding.code == "adapters"]
    one = evaluate_layout("llama3-8b", "h100", adapters.rows[0].outcome.layout, seq=4096, adapters=True)
    assert one.step_seconds == pytest.approx(adapters.rows[0].step_seconds)


def test_a_safe_deadline_is_not_called_certain():
    plan = plan_training("llama3-8b", "h100", gpus=[64, 128], batch="1Mi", seq=8192, deadline="300d")
    assert "(chance above 99 %)" in plan.answer.decision


def test_the_cost_effective_scale_may_lie_between_two_swept_counts():
    """A sparse sweep names the doublings that it leaves out, and advises the last count below the place."""
    job = {"model": "llama3-8b", "cluster": "h100-ib400", "batch": "16Mi", "critical_batch": "zhang", "seq": 8192}
    sparse, dense = (plan_training(**job, gpus=gpus) for gpus in ([96, 12288], "96..12288"))
    assert sparse.cost_effective.peak == dense.cost_effective.peak == dense.cost_effective_gpus
    assert 96 < sparse.cost_effective.peak < 12288
    assert sparse.cost_effective_gpus == sparse.advised.gpus == 96
    assert f"doublings pay up to {dense.cost_effective_gpus:,}" in sparse.answer.next
    assert f"{dense.cost_effective_gpus:,}, which is not among these counts" in sparse.answer.confidence
    assert str(dense.cost_effective_gpus) in sparse.answer.next.split("--gpus")[1]


@pytest.mark.parametrize(
    "job",
    [
        {"model": "llama3-70b", "cluster": "mi300x", "batch": "8Mi", "critical_batch": "4Mi"},
        {"model": "qwen3-30b-a3b", "cluster": "b200", "critical_batch": "zhang"},
        {"model": "llama3.2-1b", "cluster": "a100-80gb", "critical_batch": "zhang", "seq": 2048},
    ],
)
def test_the_advised_count_gets_most_for_a_fair_price(job):
    """Of the doublings of a sweep: W / P^log2(1.7), by the rows that are printed."""
    plan = plan_training(**job, gpus="16..2048")
    best = max(plan.rows, key=lambda row: row.useful_work / row.gpus ** math.log2(1.7))
    assert plan.cost_effective_gpus == best.gpus
    if best.next_doubling is not None and best.gpus < 2048:
        assert best.next_doubling < 1.7


def test_a_batch_that_nobody_charges_is_named_where_it_is_beyond_any_law():
    """160B tokens in batches of 1Gi are 150 steps."""
    job = {"model": "llama3-8b", "cluster": "h100-ib400", "gpus": [64, 1024], "seq": 8192}
    plan = plan_training(**job, batch="1Gi")
    [note] = [note for note in plan.findings if note.code == "uncharged-batch"]
    assert "150 steps" in note.message
    assert "--critical-batch" in plan.answer.next
    for settled in ({"batch": "4Mi"}, {"batch": "1Gi", "critical_batch": "zhang"}):
        assert "uncharged-batch" not in {note.code for note in plan_training(**job, **settled).findings}


def test_units_are_counted_as_people_do():
    alone = plan_training("llama3.2-1b", "h100", gpus="1..2", batch="1Mi", critical_batch="zhang", seq=2048)
    assert "on 1 GPU " in alone.next_run.sentence
    tpu = plan_training("llama3-8b", "tpu-v5e", gpus=[16, 32], batch="1Mi", critical_batch="zhang")
    assert "on 16 TPUs " in tpu.next_run.sentence


def test_a_deadline_holds_where_the_objective_has_no_price():
    job = {"model": "llama3-8b", "cluster": "gaudi2", "gpus": "8..512", "batch": "4Mi", "seq": 8192}
    plan = plan_training(**job, objective="cost", deadline="20d")
    assert plan.basis.cluster.usd_per_gpu_hour is None
    assert plan.advised.run_seconds <= 20 * 86400
    assert "no-price" in {note.code for note in plan.findings}
    assert plan_training(**job, budget="1M", deadline="20d").chosen_gpus == plan.chosen_gpus
    assert "--price" in plan_training(**job, budget="1M").answer.next


def test_one_count_grows_no_model_and_the_answer_says_what_would():
    plan = plan_training("llama3-8b", "h100", gpus=[64], batch="4Mi", seq=8192, weak=True)
    assert plan.answer.decision.startswith("64 GPUs: ")
    assert "--gpus 64,128,256" in plan.answer.next


def test_accelerators_without_work_are_not_advised():
    """A batch of one sequence on many: the first line names those that work, and their price."""
    plan = plan_training("gemma3-4b", "h100", gpus=[512, 1024], batch="1 sequences", critical_batch="4Mi", seq=8192)
    row = plan.advised
    assert row.idle >= row.gpus / 2
    alone = plan_training(
        "gemma3-4b", "h100", gpus=[row.outcome.gpus], batch="1 sequences", critical_batch="4Mi", seq=8192
    )
    assert plan.answer.decision.startswith(f"Use {row.outcome.gpus} GPU")
    assert plan.answer.decision.split(": ")[1].split(";")[0] == alone.answer.decision.split(": ")[1].split(";")[0]


def test_a_budget_that_many_accelerators_miss_is_kept_by_fewer():
    job = {"model": "llama3.2-1b", "cluster": "h100", "batch": "1Mi", "critical_batch": "zhang", "seq": 8192}
    plan = plan_training(**job, gpus=[16384], budget="2000")
    assert plan.chosen_gpus is None
    words = shlex.split(plan.answer.next.split(": ", 1)[1])
    fewer = int(words[words.index("--gpus") + 1])
    assert fewer < 16384
    assert words[words.index("--budget") + 1] == "2000"
    there, twice = (plan_training(**job, gpus=[gpus]).rows[0] for gpus in (fewer, 2 * fewer))
    assert there.run_usd <= 2000 < twice.run_usd


def test_a_batch_beyond_every_run_is_planned_up_to_a_limit() -> None:
    planned = plan_training("llama3-8b", "h100", gpus=[64], batch="fixed:1e12", seq=8192)
    assert planned.rows[0].outcome.step.high > planned.rows[0].outcome.step.low
    with pytest.raises(InputError, match="write at most 1T tokens"):
        plan_training("llama3-8b", "h100", gpus=[64], batch="fixed:1e40", seq=8192)
