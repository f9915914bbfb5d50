"""GRD005."""

import pytest

from ftlab.rules.gradient.gradients_not_used_once import GradientsNotUsedOnce
from tests.runs import RunBuilder, only, reporter

CARRIED, THROWN, AGAIN = (
    "gradients_carried",
    "gradients_thrown_away",
    "gradients_used_again",
)
BACK = ("backward", "loss", {})
EARLY = ("step", "optimizer 0", {"accumulating": 4})
STEP = ("step", "optimizer 0", {})
check = reporter(GradientsNotUsedOnce())


def looked(column, *values, optimizers=1):
    builder = RunBuilder()
    builder.tensor("m.w", "layers.0")
    builder.facts(optimizers=({"class": "AdamW"},) * optimizers)
    for value in values:
        told = {} if value is None else {column: value}
        builder.step(ops=[STEP], values=told)
    return check(builder).findings


def stepped(*updates, backwards=1):
    builder = RunBuilder()
    for update in updates:
        back = ("backward", "loss", {"times": backwards})
        builder.step(ops=[back, update])
    return check(builder).findings


@pytest.mark.parametrize(
    ("column", "values", "place", "evidence"),
    [
        (CARRIED, (None, 1.0, 2.0, 3.0), "zero_grad", {"norm_last": 3.0}),
        (THROWN, (3, 3, 3), "zero_grad", {"thrown_away": 3}),
        (AGAIN, (None, 1.0, 0.0, 1.0), "step", {"looks": 2, "norm": 1.0}),
    ],
)
def test_finds_gradients_that_enter_no_update_or_several(
    column, values, place, evidence
):
    finding = only(looked(column, *values), "error")
    assert str(finding.place) == f"call optimizer.{place}"
    assert evidence.items() <= finding.evidence.items()
    assert finding.last_step == len(values) - 1


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (CARRIED, (None, 0.0, 0.0, 0.0, 0.0)),
        (CARRIED, (None, 1.0, 2.0)),
        (CARRIED, (None, 1.0, 0.0, 1.0, 0.0, 1.0)),
        (CARRIED, (None, 1.0, 2.0, 3.0, 0.0)),
        (THROWN, (3, 3)),
        (THROWN, (3, 3, 0)),
        (THROWN, (0, 0, 0, 0)),
        (THROWN, (3, 0, 3, 0, 3)),
        (AGAIN, (None, 0.0, 0.0, 0.0)),
        (AGAIN, (None, 1.0, 0.0)),
    ],
)
def test_once_or_twice_is_let_pass(column, values):
    assert looked(column, *values) == ()


def test_says_how_many_backwards_nothing_used():
    assert "3 of 4 backwards" in looked(THROWN, 3, 3, 3)[0].message


def test_two_optimizers_may_clear_in_turn():
    assert looked(THROWN, 1, 1, 1, 1, optimizers=2) == ()


def test_counts_from_the_last_time_that_it_was_cleared():
    (finding,) = looked(CARRIED, None, 0.0, 0.0, 1.0, 2.0, 3.0)
    assert finding.first_step == 3


def test_steps_that_were_not_looked_at_are_passed_over():
    assert looked(CARRIED, None, 1.0, None, 2.0, None, 3.0)


def test_finds_updates_that_accelerate_would_have_left_out():
    finding = only(stepped(EARLY, EARLY, EARLY, STEP), place="call accelerator.prepare")
    assert finding.evidence["gathered"] == 4


@pytest.mark.parametrize(
    "updates",
    [
        [EARLY] * 3,  # what an earlier loop has left
        [EARLY] * 8 + [STEP],
        [EARLY, EARLY, STEP],
        [EARLY] * 3 + [STEP] * 30,
    ],
)
def test_what_may_be_another_loops_is_not_taken_for_it(updates):
    assert stepped(*updates) == ()


def test_a_window_that_is_left_over_and_longer_than_the_run():
    builder = RunBuilder()
    left = ("step", "optimizer 0", {"accumulating": 64})
    for number in range(40):  # some updates are made of two backwards
        back = ("backward", "loss", {"times": 1 + (number % 4 == 0)})
        builder.step(ops=[back, left])
    assert check(builder).findings == ()


def test_updates_of_several_backwards_are_accumulated_by_hand():
    assert stepped(EARLY, EARLY, EARLY, STEP, backwards=4) == ()
