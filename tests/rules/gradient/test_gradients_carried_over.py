"""GRD005."""

import pytest

from ftlab.records.finding import Severity
from ftlab.rules.engine import Engine
from ftlab.rules.gradient.gradients_carried_over import GradientsCarriedOver
from tests.runs import RunBuilder, healthy_lora


def report(*norms):
    builder = RunBuilder()
    builder.tensor("m.w", "layers.0")
    for norm in norms:
        values = {} if norm is None else {"gradients_carried": norm}
        builder.step(ops=[("step", "optimizer 0", {})], values=values)
    return Engine([GradientsCarriedOver()]).check(builder.run)


def test_is_not_checked_where_nothing_was_looked_at():
    assert Engine([GradientsCarriedOver()]).check(healthy_lora().run).not_checked


def test_finds_gradients_that_add_up():
    (finding,) = report(None, 1.0, 2.0, 3.0).findings
    assert finding.severity is Severity.ERROR
    assert str(finding.place) == "call optimizer.zero_grad"
    assert finding.evidence["norm_last"] == 3.0
    assert (finding.first_step, finding.last_step) == (1, 3)


@pytest.mark.parametrize(
    "norms",
    [
        (None, 0.0, 0.0, 0.0, 0.0),
        (None, 1.0, 2.0),
        (None, 1.0, 0.0, 1.0, 0.0, 1.0),
        (None, 1.0, 2.0, 3.0, 0.0),
    ],
)
def test_what_is_cleared_in_between_is_let_pass(norms):
    assert report(*norms).findings == ()


def test_counts_from_the_last_time_that_it_was_cleared():
    (finding,) = report(None, 0.0, 0.0, 1.0, 2.0, 3.0).findings
    assert finding.first_step == 3


def test_steps_that_were_not_looked_at_are_passed_over():
    assert report(None, 1.0, None, 2.0, None, 3.0).findings
