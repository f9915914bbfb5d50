"""ADP001."""

import pytest

from ftlab.records.finding import Severity
from ftlab.rules.adapter.adapter_stuck_at_zero import AdapterStuckAtZero
from tests.runs import RunBuilder, healthy_lora, only, reporter

report = reporter(AdapterStuckAtZero())


def check(builder):
    return report(builder).findings


def pairs(count=1, *, b_trainable=True):
    builder = RunBuilder()
    for index in range(count):
        layer = f"layers.{index}"
        path = f"model.{layer}.q"
        rows = {}
        for role in ("lora_A", "lora_B")[: 1 + b_trainable]:
            meta = {"role": role, "adapter": "default", "module": path}
            text = f"{path}.{role}.default.weight"
            rows[role[-1].lower()] = builder.tensor(text, layer, meta=meta)
        builder.pair(layer, "default", a=rows["a"], b=rows.get("b", -1))
    return builder


def run(builder, b=0.0, a=3.0, grads=(0.0, 0.0), steps=20, has=1.0, **fields):
    """Measure the pairs at step 0 and every 16 steps."""
    for step in range(steps):
        measured = {"a_l2": a, "b_l2": b} if step % 16 == 0 else None
        builder.step({"has_grad": has, "grad_l2": grads}, measured, **fields)
    return builder


def test_is_quiet_on_a_healthy_run():
    assert check(healthy_lora()) == ()


def test_is_quiet_on_the_first_steps():
    builder = healthy_lora(steps=12)
    assert report(builder).findings == ()
    assert "after 0 effective steps" in report(builder).not_checked[0].reason


def test_both_factors_zero():
    finding = only(check(run(pairs(2), a=0.0, grads=[0.0] * 4)), reason="both-zero")
    assert "2 of 2 LoRA pairs add nothing after 20 effective steps" in finding.message
    assert finding.place.name == "model.layers.0.q.lora_B.default.weight"


def test_a_frozen_factor():
    finding = only(check(run(pairs(b_trainable=False), grads=[0.0])), reason="frozen")
    assert finding.place.name == "model.layers.0.q.lora_B.default.weight"


def test_no_gradient():
    only(check(run(pairs(), has=0.0, grads=float("nan"))), reason="no-gradient")


def test_a_gradient_of_zero():
    values = {"output_grad": 0.1}
    only(check(run(pairs(), grads=(1.0, 0.0), values=values)), reason="zero-gradient")


@pytest.mark.parametrize("values", [{}, {"output_grad": 0.0}])
def test_a_gradient_of_zero_from_the_loss_is_not_laid_on_the_adapter(values):
    (finding,) = check(run(pairs(), grads=(0.0, 0.0), values=values))
    assert finding.evidence["reason"] == "zero-from-loss"
    assert "what the loss multiplies by" in finding.fix


def test_gradients_but_no_update():
    finding = only(check(run(pairs(), grads=(0.0, 1.0))), reason="not-updated")
    assert "after 16 effective steps" in finding.message


@pytest.mark.parametrize(("steps", "found"), [(7, 0), (8, 1)])
def test_takes_eight_effective_steps(steps, found):
    assert len(check(run(pairs(), grads=(1.0, 0.0), steps=steps))) == found


def test_steps_after_the_last_measurement_count_only_without_a_push():
    assert check(run(pairs(), grads=(0.0, 1.0), steps=15)) == ()


@pytest.mark.parametrize("fields", [{"lr": (0.0,)}, {"skipped": True}, {"lr": ()}])
def test_steps_that_change_nothing_do_not_count(fields):
    outcome = report(run(pairs(), grads=(0.0, 1.0), steps=40, **fields))
    assert outcome.findings == ()
    assert len(outcome.not_checked) == 1


@pytest.mark.parametrize(
    ("fields", "reason", "record"),
    [
        ({"lr": (0.0,)}, "the learning rate was 0 at all 40 steps", "the schedule"),
        ({"skipped": True}, "the scaler skipped all 40 steps", "some loss scale"),
    ],
)
def test_says_why_no_step_was_effective(fields, reason, record):
    (entry,) = report(run(pairs(), grads=(0.0, 1.0), steps=40, **fields)).not_checked
    assert reason in entry.reason
    assert record in entry.record


@pytest.mark.parametrize(("kind", "left_out"), [("LORA", False), ("IA3", True)])
def test_is_left_out_where_no_adapter_is_lora(kind, left_out):
    builder = RunBuilder().facts(model={"peft": {"default": {"peft_type": kind}}})
    builder.tensor("w")
    builder.step({"has_grad": 1.0})
    assert (report(builder).not_checked == ()) is left_out


def test_a_pair_in_no_group_is_another_rules_matter():
    builder = RunBuilder()
    for role in ("lora_A", "lora_B"):
        builder.tensor(f"q.{role}.default.weight", meta={"role": role, "group": -1})
    builder.pair("layers.0", "default", a=0, b=1)
    outcome = report(run(builder, grads=(0.0, 1.0), steps=40))
    assert outcome.findings == ()
    assert "in no optimizer group" in outcome.not_checked[0].reason


def test_a_pair_that_moved_once_is_not_stuck():
    builder = run(pairs(), grads=(0.0, 1.0), steps=10)
    run(builder, b=0.1, grads=(1.0, 1.0), steps=20)
    assert check(builder) == ()


def test_an_inactive_adapter_is_not_judged():
    builder = RunBuilder()
    for role in ("lora_A", "lora_B"):
        builder.tensor(f"q.{role}.second.weight", meta={"role": role})
    builder.pair("layers.0", "second", a=0, b=1, active=False)
    assert check(run(builder, has=0.0)) == ()


def test_an_adapter_of_which_nothing_is_trained_is_not_judged():
    builder = pairs()
    builder.pair("layers.9", "frozen", a=-1, b=-1)
    run(builder, b=(0.5, 0.0), grads=(1.0, 1.0))
    assert check(builder) == ()


def test_an_expert_without_tokens_is_excused_by_its_twin():
    builder = RunBuilder()
    for index in range(2):
        for role in ("lora_A", "lora_B"):
            builder.tensor(
                f"layers.0.experts.{index}.w1.{role}.default.weight",
                "layers.0",
                meta={"role": role},
            )
        builder.pair(
            "layers.0", "default", f"experts.{index}.w1", a=2 * index, b=2 * index + 1
        )
    assert check(run(builder, b=(0.3, 0.0), grads=(1.0, 1.0, 0.0, 0.0))) == ()


def test_an_embeddings_pair_starts_the_other_way_round():
    builder = RunBuilder()
    for role in ("lora_embedding_A", "lora_embedding_B"):
        builder.tensor(f"embed.{role}.default", meta={"role": role})
    builder.pair("embed", "default", a=0, b=1)
    (finding,) = check(run(builder, a=0.0, b=2.0, grads=(0.0, 0.0)))
    assert finding.place.name == "embed.lora_embedding_A.default"


def test_a_few_pairs_of_many_are_a_warning():
    builder = run(pairs(3), b=(0.0, 0.5, 0.5), grads=(1.0, 0.0, 1.0, 1.0, 1.0, 1.0))
    only(check(builder), "warning")
    builder = run(pairs(2), b=(0.0, 0.5), grads=(1.0, 0.0, 1.0, 1.0))
    assert check(builder)[0].severity is Severity.ERROR


def test_each_reason_is_a_finding_of_its_own():
    builder = run(pairs(2), a=(0.0, 3.0), grads=(0.0, 0.0, 1.0, 0.0))
    assert {finding.evidence["reason"] for finding in check(builder)} == {
        "both-zero",
        "zero-from-loss",
    }


def test_a_gradient_that_comes_after_the_last_measurement_is_no_proof():
    builder = pairs()
    for step in range(20):
        measured = {"a_l2": 3.0, "b_l2": 0.0} if step in (0, 8) else None
        late = 1.0 if step >= 15 else 0.0
        builder.step({"has_grad": late, "grad_l2": late}, measured)
    assert report(builder).findings == ()


def test_a_gradient_that_came_before_the_measurement_is_one():
    builder = pairs()
    for step in range(20):
        measured = {"a_l2": 3.0, "b_l2": 0.0} if step in (0, 8) else None
        builder.step({"has_grad": 1.0, "grad_l2": 1.0}, measured)
    only(report(builder).findings, reason="not-updated")
