"""OPT023."""

import pytest

from ftlab.rules.engine import Engine
from ftlab.rules.optimizer.moments_thrown_away import MomentsThrownAway
from tests.runs import RunBuilder


def check(builder):
    return Engine([MomentsThrownAway()]).check(builder.run).findings


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
    (finding,) = check(run(0, 1, 1, 2, 2, 3))
    assert "AdamW began with empty moments for the third time" in finding.message
    assert [str(place) for place in finding.places] == ["optimizer state", "call AdamW"]
    assert (finding.first_step, finding.last_step) == (1, 5)
    assert finding.evidence["reason"] == "made-anew"


def test_says_that_the_state_was_cleared():
    (finding,) = check(run(0, 1, 2, 3, cleared=9))
    assert str(finding.places[1]) == "call optimizer.state.clear"
    assert finding.evidence["reason"] == "cleared"


def test_weights_that_were_put_back_explain_it():
    assert check(run(0, 1, 2, 3, written={1, 2, 3})) == ()
    assert check(run(0, 1, 2, 3, written={2})) == ()


@pytest.mark.parametrize("op", ["merge", "add_adapter", "set_adapter", "load"])
def test_work_on_adapters_explains_it(op):
    assert check(run(0, 1, 2, 3, ops=(op, op, op))) == ()
    assert len(check(run(0, 1, 2, 3, ops=("forward",) * 3))) == 1
