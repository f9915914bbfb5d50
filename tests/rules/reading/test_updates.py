"""Which steps can change a weight."""

from ftlab.rules.reading.updates import effective
from tests.runs import RunBuilder


def test_skipped_steps_and_a_rate_of_zero_are_not_effective():
    builder = RunBuilder()
    builder.step(lr=(0.0, 1e-3)).step(lr=(1e-3, 1e-3)).step(lr=(1e-3, 0.0))
    builder.step(lr=(1e-3, 1e-3), skipped=True).step(lr=())
    moved = effective(builder.run)
    assert moved.steps_of(0).tolist() == [1, 2]
    assert moved.steps_of(1).tolist() == [0, 1]
    assert moved.count(0, 0, 2) == 1


def test_a_parameter_in_no_group_is_never_updated():
    moved = effective(RunBuilder().step().run)
    assert moved.steps_of(-1).tolist() == []
    assert moved.steps_of(7).tolist() == []
