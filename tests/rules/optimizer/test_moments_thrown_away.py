"""OPT023."""

import pytest

from ftlab.rules.optimizer.moments_thrown_away import MomentsThrownAway
from tests.runs import RunBuilder, checker, only, places

check = checker(MomentsThrownAway())


def run(*counts, cleared=0, ops=(), written=()):
    builder = RunBuilder()
    builder.facts(optimizers=({"class": "AdamW", "groups": []},))
    for step, count in enumerate(counts):
        values = {"moments_begun_anew": count, "moments_cleared": min(count, cleared)}
        values["weights_written"] = float(step in written)
        builder.step(ops=ops[step : step + 1], values=values)
    return builder


@pytest.mark.parametrize(("last", "found"), [(2, 0), (3, 1)])
def test_takes_three_beginnings(last, found):
    assert len(check(run(*range(last + 1)))) == found


def test_says_that_the_optimizer_was_made_anew():
    finding = only(check(run(0, 1, 1, 2, 2, 3)), reason="made-anew", steps=(1, 5))
    assert "AdamW started with empty moments for the third time" in finding.message
    assert places(finding) == ["optimizer state", "call AdamW"]


def test_says_that_the_state_was_cleared():
    finding = only(check(run(0, 1, 2, 3, cleared=9)), reason="cleared")
    assert str(finding.places[1]) == "call optimizer.state.clear"


def test_weights_that_were_put_back_explain_it():
    assert check(run(0, 1, 2, 3, written={1, 2, 3})) == ()
    assert check(run(0, 1, 2, 3, written={2})) == ()


@pytest.mark.parametrize("op", ["merge", "add_adapter", "set_adapter", "load"])
def test_work_on_adapters_explains_it(op):
    assert check(run(0, 1, 2, 3, ops=(op, op, op))) == ()
    assert len(check(run(0, 1, 2, 3, ops=("forward",) * 3))) == 1


def emptied(*rates, excess=6.5, at=0):
    """Moments of 0 at one step, and the rate of each step."""
    builder = RunBuilder()
    builder.facts(optimizers=({"class": "AdamW", "groups": []},))
    for step, rate in enumerate(rates):
        values = {"moments_begun_anew": 0.0, "moments_cleared": 0.0}
        if step == at:
            values |= {"moments_emptied_at": 20000.0, "moments_excess": excess}
        builder.step(lr=(rate,), values=values)
    return check(builder)


def test_finds_empty_moments_at_a_late_step_three_updates_later():
    finding = only(emptied(1e-3, 1e-3, 1e-3), reason="count-kept", steps=(0, 0))
    assert "step count was 20000: updates become 6.5 times too large" in finding.message
    assert len(emptied(1e-3, 1e-3, 1e-3, 1e-3, 1e-3, at=2)) == 1
    assert emptied(1e-3, 1e-3) == ()


def test_betas_that_keep_updates_small_are_let_pass():
    assert emptied(1e-3, 1e-3, 1e-3, excess=3.0) == ()


@pytest.mark.parametrize("rates", [(1e-4, 2e-4, 3e-4), (0.0, 0.0, 0.0)])
def test_a_warm_up_makes_up_for_it(rates):
    assert emptied(*rates) == ()
    assert emptied(1e-3, *rates, at=1) == ()
