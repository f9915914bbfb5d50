"""ADP002."""

import math

import pytest

from ftlab.rules.adapter.adapter_shrinking import AdapterShrinking
from tests.runs import RunBuilder, checker, report_by

check = checker(AdapterShrinking())


def shrinking(rate, decay, kept_per_step, steps=64, kind="AdamW", group=0, **fields):
    builder = RunBuilder()
    for role in ("lora_A", "lora_B"):
        meta = {"role": role, "group": group}
        builder.tensor(f"q.{role}.default.weight", meta=meta)
    builder.pair("layers.0", "default", a=0, b=1)
    groups = [{"lr": rate, "weight_decay": 0.0}] * group
    groups.append({"lr": rate, "weight_decay": decay})
    builder.facts(optimizers=({"class": kind, "groups": groups},))
    for step in range(steps):
        size = 3.0 * kept_per_step**step
        measured = {"a_l2": size, "b_l2": 0.1} if step % 16 == 0 else None
        builder.step({"has_grad": 1.0}, measured, lr=(rate,) * (group + 1), **fields)
    return builder


def test_finds_decay_that_eats_an_adapter():
    (finding,) = check(shrinking(1e-3, 100.0, 0.9))
    assert finding.place.name == "q.lora_A.default.weight"
    assert finding.evidence["share_of_decay"] == pytest.approx(1.0, abs=0.01)
    assert finding.evidence["kept"] == pytest.approx(0.9**48, rel=1e-3)
    assert "weight decay 100 at a learning rate of 0.001" in finding.cause
    assert "10 % of every weight" in finding.cause


@pytest.mark.parametrize(("kept", "found"), [(0.81, 0), (0.79, 1)])
def test_a_fifth_of_the_norm_must_be_gone(kept, found):
    per_step = kept ** (1 / 48)
    assert len(check(shrinking(1e-3, 1e3 * (1 - per_step), per_step))) == found


@pytest.mark.parametrize(("share", "found"), [(0.45, 0), (0.55, 1)])
def test_decay_must_explain_half_of_it(share, found):
    per_step = 0.5 ** (1 / 48)
    decay = 1e3 * (1 - math.exp(share * math.log(per_step)))
    assert len(check(shrinking(1e-3, decay, per_step))) == found


def test_skipped_steps_decay_nothing():
    assert check(shrinking(1e-3, 100.0, 0.9, skipped=True)) == ()


def test_two_measurements_are_no_trend():
    assert check(shrinking(1e-3, 100.0, 0.9, steps=32)) == ()


def test_the_penalty_of_adam_is_not_judged():
    assert check(shrinking(1e-3, 100.0, 0.9, kind="Adam")) == ()


@pytest.mark.parametrize("kind", ["SGD", "AdamW8bit", "PagedAdamW32bit", "Lion"])
def test_other_optimizers_with_decoupled_decay_are(kind):
    assert len(check(shrinking(1e-3, 100.0, 0.9, kind=kind))) == 1


def test_the_groups_own_decay_counts():
    (finding,) = check(shrinking(1e-3, 100.0, 0.9, group=2))
    assert finding.cause.startswith("Group 2 ")


def test_growth_is_fine():
    assert check(shrinking(1e-3, 100.0, 1.01)) == ()


def test_an_adapter_at_zero_is_another_rules_matter():
    assert check(shrinking(1e-3, 100.0, 0.0)) == ()


def test_full_fine_tuning_is_left_out():
    builder = RunBuilder().facts(model={"peft": {}}, optimizers=({"class": "AdamW"},))
    builder.tensor("w")
    builder.step({"has_grad": 1.0})
    assert report_by(AdapterShrinking(), builder.run).not_checked == ()
