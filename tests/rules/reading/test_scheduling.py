"""When rules about schedulers have something to ask."""

import pytest

from ftlab.rules.reading.scheduling import may_have_schedulers
from tests.runs import RunBuilder


@pytest.mark.parametrize(
    ("ops", "may"),
    [((), True), (("step",), False), (("step", "scheduler_step"), True)],
)
def test_a_run_whose_updates_saw_no_scheduler_has_none(ops, may):
    assert may_have_schedulers(RunBuilder().step(ops=ops).run) is may


def test_a_scheduler_that_was_handed_over_is_there_before_it_steps():
    builder = RunBuilder().facts(schedulers=({"class": "LambdaLR"},))
    assert may_have_schedulers(builder.step(ops=("step",)).run)
