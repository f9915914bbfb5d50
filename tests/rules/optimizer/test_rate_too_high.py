"""OPT014."""

import pytest

from ftlab.records.finding import Place
from ftlab.rules.optimizer.rate_too_high import RateTooHigh
from tests.runs import RunBuilder, checker, only

RISING = (4.0, 6.0, 30.0, 90.0, 80.0)
check = checker(RateTooHigh())


def run(losses=RISING, weights=(2.0, 0.0), updates=(20.0, 9.0), measured=(0, 1, 2)):
    builder = RunBuilder()
    for name in ("q.lora_A.weight", "q.lora_B.weight"):
        builder.tensor(name)
    for step, loss in enumerate(losses):
        now = weights if step == 0 else [w or 9.0 for w in weights]
        columns = {"update_l2": updates, "weight_l2": now}
        builder.step(columns if step in measured else None, loss=loss, lr=(1.0,))
    return builder


def test_updates_larger_than_the_weights_and_a_loss_that_rises():
    finding = only(check(run()), "error", "optimizer lr", steps=(1, 4), ratio=10.0)
    assert finding.places[1] == Place("param", "q.lora_A.weight")
    assert len(finding.places) == 2
    assert "it was 1 at the first step" in finding.message + finding.cause


@pytest.mark.parametrize(
    "sick",
    [
        {"losses": (4.0, 3.0, 2.0, 1.0, 0.5)},  # LBFGS, soft prompts
        {"losses": (4.0, 6.0, 6.0, 4.0, 6.0)},
        {"losses": (0.0, 1.0, 2.0, 3.0, 4.0)},
        {"updates": (0.2, 9.0)},
        {"weights": (0.0, 0.0)},
        {"measured": ()},
    ],
)
def test_one_sign_alone_is_no_evidence(sick):
    assert check(run(**sick)) == ()


def test_a_warm_up_makes_the_first_updates_smaller():
    losses = (4.0, 3.9, 3.8, 3.7, *[6.0] * 16)
    behind = {"losses": losses, "updates": (1.2, 9.0), "measured": (0, 1, 2, 3, 4)}
    finding = only(check(run(**behind)), threshold=0.5)
    assert finding.first_step == 4
    assert not check(run(**behind | {"losses": losses[:-1]}))
    assert not check(run(**behind | {"updates": (0.8, 9.0)}))


def test_decay_alone_moves_a_tensor_before_its_gradient_comes():
    builder = RunBuilder()
    builder.tensor("q.lora_A.weight")
    for step, loss in enumerate(RISING):
        update = 0.02 if step == 0 else 20.0
        builder.step({"update_l2": update, "weight_l2": 2.0}, loss=loss)
    assert len(check(builder)) == 1


def test_a_loss_that_is_lost_altogether_has_left_its_first_value():
    assert len(check(run((4.0, 9.0, float("nan"), float("nan"))))) == 1
