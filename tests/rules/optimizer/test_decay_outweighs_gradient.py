"""OPT022."""

import pytest

from ftlab.rules.optimizer.decay_outweighs_gradient import DecayOutweighsGradient
from tests.runs import RunBuilder, checker, only, places

check = checker(DecayOutweighsGradient())


def run(
    *,
    kind="AdamW",
    decay=10.0,
    columns=None,
    steps=5,
    shape=(8, 8),
    role="weight",
    group=None,
    **fields,
):
    builder = RunBuilder()
    builder.tensor("w", shape=shape, meta={"role": role})
    values = {"lr": 1e-3, "weight_decay": decay} | (group or {})
    facts = {"class": kind, "module": "torch.optim.adam", "groups": [values]}
    builder.facts(optimizers=(facts,))
    for _ in range(steps):
        builder.step({"has_grad": 1.0} | (columns or {"decay_share": 0.5}), **fields)
    return builder


def penalty(grad, **settings):
    columns = {"decay_share": float("nan"), "weight_l2": 4.0, "grad_l2": grad}
    return run(kind="Adam", decay=0.1, columns=columns, **({"steps": 7} | settings))


def test_finds_updates_that_are_decay():
    finding = only(check(run()), reason="decoupled")
    assert places(finding) == ["optimizer weight_decay", "param w"]
    assert "50 % of the update is weight decay in 1 tensor" in finding.message


@pytest.mark.parametrize(("share", "found"), [(0.19, 0), (0.21, 1)])
def test_takes_a_fifth_of_the_update(share, found):
    assert len(check(run(columns={"decay_share": share}))) == found


@pytest.mark.parametrize(("steps", "found"), [(3, 0), (4, 1)])
def test_takes_three_updates(steps, found):
    assert len(check(run(steps=steps))) == found


@pytest.mark.parametrize("settings", [{"shape": (8,)}, {"role": "lora_A"}])
def test_vectors_and_lora_are_judged_elsewhere(settings):
    assert check(run(**settings)) == ()


@pytest.mark.parametrize(("grad", "found"), [(0.05, 0), (0.04, 1), (0.03, 1)])
def test_finds_a_penalty_of_ten_gradients(grad, found):
    assert len(check(penalty(grad))) == found


def test_the_penalty_acts_on_lora_as_well():
    finding = only(check(penalty(0.001, role="lora_A")), reason="penalty")
    assert finding.first_step == 4


def test_clipped_gradients_weigh_less():
    assert check(penalty(0.1)) == ()
    assert len(check(penalty(0.1, clip_coefficient=0.1))) == 1


def test_adam_with_decoupled_decay_has_no_penalty():
    assert check(penalty(0.001, group={"decoupled_weight_decay": True})) == ()


def test_no_decay_is_not_looked_at():
    assert check(run(decay=0.0)) == ()
