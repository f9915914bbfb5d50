"""MOD028: answers that begin to repeat themselves."""

import pytest

from ftlab.rules.model.repetition_growing import RepetitionGrowing
from tests.rules.model.test_answers_never_end import asked
from tests.runs import RunBuilder, found_by, only


def check(*repetitions, ended=(), plain=0.0, trained=None):
    builder = RunBuilder()
    for step, repetition in enumerate(repetitions):
        builder.step()
        end = {"ended": step in ended, "repetition": repetition, "plain": plain}
        asked(builder, step, 0.1, trained=trained, **end)
    return found_by(RepetitionGrowing(), builder.run)


def test_answers_that_repeat_themselves_and_did_not():
    found = only(check(0.0, 0.1, 0.8, 0.7), place="sample who?")
    assert (found.first_step, found.last_step) == (2, 3)
    assert (
        "70 % of their runs of 4 tokens were there before, at most 0 %" in found.message
    )


@pytest.mark.parametrize(
    ("repetitions", "found"),
    [
        ((0.0, 0.8), 0),
        ((0.2, 0.5, 0.5), 1),
        ((0.21, 0.5, 0.5), 0),
        ((0.2, 0.49, 0.5), 0),
    ],
)
def test_it_takes_little_before_and_much_twice(repetitions, found):
    assert len(check(*repetitions)) == found


def test_what_the_base_repeats_too_is_not_the_trainings():
    assert check(0.0, 0.8, 0.8, plain=0.6) == ()


def test_what_is_trained_may_repeat_itself():
    assert check(0.0, 0.8, 0.8, trained=0.3) == ()
    assert len(check(0.0, 0.8, 0.8, trained=0.1)) == 1


def test_answers_that_end_are_no_circles():
    assert check(0.0, 0.8, 0.8, 0.8, ended=(3,)) == ()
