"""NUM003."""

import pytest

from ftlab.rules.engine import Engine
from ftlab.rules.numeric.flat_loss import FlatLoss
from ftlab.rules.registry import all_rules
from tests.runs import RunBuilder, only


def check(builder):
    return Engine([FlatLoss()]).check(builder.run).findings


STILL = {"update_l2": 0.0, "stuck_share": 1.0, "grad_l2": 0.3, "has_grad": 1.0}


def run(steps=12, fields=None, adapters=None, group=0, **columns):
    builder = RunBuilder().facts(optimizers=({"class": "Mine", "missing": ()},))
    if adapters is None:
        for name in ("w", "v"):
            builder.tensor(name, meta={"group": group})
    else:
        builder.lora("layers.0")
    builder.steps(steps, STILL | columns, adapters, **(fields or {}))
    return builder


def test_an_optimizer_that_writes_nothing_is_named():
    finding = only(check(run()), place="call optimizer.step", steps=(0, 11))
    assert finding.evidence["reason"] == "step-without-effect"
    assert "12 effective steps changed nothing" in finding.message


def test_steps_behind_the_last_measurement_are_not_judged():
    builder = run(4)
    builder.steps(20, {"grad_l2": 0.3, "has_grad": 1.0})
    assert check(builder) == ()
    builder.step(STILL)
    assert len(check(builder)) == 1


def test_one_tensor_that_moves_is_enough_to_be_quiet():
    assert check(run(update_l2=[0.0, 1e-9])) == ()


@pytest.mark.parametrize(("steps", "found"), [(7, 0), (8, 1)])
def test_takes_eight_effective_steps(steps, found):
    assert len(check(run(steps))) == found


@pytest.mark.parametrize("fields", [{"lr": (0.0,)}, {"skipped": True}, {"loss": 0.0}])
def test_is_quiet_where_nothing_should_move(fields):
    assert check(run(fields=fields)) == ()


def test_a_sample_beside_the_rows_that_were_used_proves_nothing():
    assert check(run(stuck_share=float("nan"))) == ()


def test_no_gradient_proves_it():
    builder = run(stuck_share=float("nan"), grad_l2=float("nan"), has_grad=0.0)
    only(check(builder), place="object loss")


def test_a_pair_whose_product_stays_zero_has_no_effect_though_half_of_it_moves():
    adapters = {"a_l2": 1.0, "b_l2": 0.0}
    assert len(check(run(adapters=adapters, update_l2=[0.1, 0.0]))) == 1
    adapters = {"a_l2": 1.0, "b_l2": 0.1}
    assert check(run(adapters=adapters, update_l2=[0.1, 0.0])) == ()


def test_weights_that_someone_else_moves_are_not_still():
    builder = RunBuilder().facts(optimizers=({"class": "Mine", "missing": ("w",)},))
    builder.tensor("w", meta={"group": -1})
    for step in range(12):
        builder.step(STILL | {"weight_l2": 1.0 + step})
    assert check(builder) == ()


def test_what_is_wrong_elsewhere_is_its_cause():
    builder = run(stuck_share=float("nan"), grad_l2=float("nan"), has_grad=0.0)
    for entry in ("backward", "zero_grad", "step"):
        builder.step(STILL | {"has_grad": 0.0}, ops=[entry])
    report = Engine(all_rules()).check(builder.run)
    found = {each.code: each for each in report.findings}
    assert found["NUM003"].follows == "GRD003"
    assert report.findings[0].code == "GRD003"
