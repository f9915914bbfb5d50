"""OPT021."""

import math

import pytest

from ftlab.rules.optimizer.eps_outweighs_moments import EpsOutweighsMoments
from tests.runs import RunBuilder, checker, only

check = checker(EpsOutweighsMoments())


def run(*, eps=0.1, share=1.0, move=1e-3, first=0, steps=(0, 1, 2, 3), lr=1e-3):
    """``move`` is the update per weight over the learning rate."""
    builder = RunBuilder()
    builder.step_number = first
    builder.tensor("w", shape=(10, 10))
    builder.tensor("v", shape=(10, 9))
    group = {"lr": lr, "eps": eps, "weight_decay": 0.0}
    builder.facts(optimizers=({"class": "AdamW", "groups": [group]},))
    for step in range(max(steps) + 1):
        measured = {"has_grad": 1.0}
        if step in steps:
            update = [move * lr * 10, 1e-3 * lr * math.sqrt(90)]
            measured |= {"eps_share": [share, 0.0], "update_l2": update}
        builder.step(measured, lr=(lr,))
    return builder


def test_finds_an_eps_that_is_all_of_the_denominator():
    finding = only(check(run()), place="optimizer eps", steps=(1, 3))
    assert [str(place) for place in finding.places[1:]] == ["param w"]
    assert "eps = 0.1" in finding.message
    assert finding.evidence["update_over_rate"] == pytest.approx(1e-3, rel=1e-3)


@pytest.mark.parametrize(("eps", "found"), [(1e-8, 0), (1e-7, 0), (2e-7, 1)])
def test_a_usual_eps_is_not_to_blame(eps, found):
    assert len(check(run(eps=eps))) == found


@pytest.mark.parametrize(("share", "found"), [(0.89, 0), (0.91, 1)])
def test_takes_nine_tenths_of_the_elements(share, found):
    assert len(check(run(share=share))) == found


@pytest.mark.parametrize(("move", "found"), [(0.049, 1), (0.051, 0)])
def test_weights_that_move_are_let_pass(move, found):
    assert len(check(run(move=move))) == found


@pytest.mark.parametrize(
    ("steps", "found"), [((0, 1, 2), 0), ((0, 1, 2, 3), 1), ((4, 8, 16, 32), 0)]
)
def test_takes_three_updates_from_the_start_of_the_run(steps, found):
    assert len(check(run(steps=steps))) == found


def test_an_update_that_was_none_does_not_count():
    assert check(run(lr=0.0)) == ()


def test_needs_half_of_what_is_trained():
    builder = run()
    builder.tensor("large", shape=(100, 100))
    measured = {"eps_share": [1.0, 0.0, 0.0], "update_l2": [1e-5, 1e-5, 1.0]}
    builder.steps(4, {"has_grad": 1.0} | measured)
    assert check(builder) == ()


def test_another_group_s_eps_is_not_to_blame():
    builder = run()
    groups = [{"lr": 1e-3, "eps": eps} for eps in (1e-8, 0.1)]
    builder.facts(optimizers=({"class": "AdamW", "groups": groups},))
    assert check(builder) == ()
