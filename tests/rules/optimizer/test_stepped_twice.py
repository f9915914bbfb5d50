"""OPT004."""

import pytest

from ftlab.rules.engine import Engine
from ftlab.rules.optimizer.stepped_twice import SteppedTwice
from tests.runs import RunBuilder, healthy_lora


def report(*norms):
    builder = RunBuilder()
    for norm in norms:
        values = {} if norm is None else {"gradients_used_again": norm}
        builder.step(ops=[("step", "optimizer 0", {})], values=values)
    return Engine([SteppedTwice()]).check(builder.run)


def test_is_not_checked_where_nothing_was_looked_at():
    assert Engine([SteppedTwice()]).check(healthy_lora().run).not_checked


def test_finds_steps_with_the_gradients_of_the_last_one():
    (finding,) = report(None, 1.0, 0.0, 1.0).findings
    assert str(finding.place) == "call optimizer.step"
    assert finding.evidence["looks"] == 2


@pytest.mark.parametrize("norms", [(None, 0.0, 0.0, 0.0), (None, 1.0, 0.0)])
def test_one_look_or_none_is_not_enough(norms):
    assert report(*norms).findings == ()
