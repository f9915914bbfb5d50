from ftlab.rules.reasons.rescaled import rescaled_updates
from tests.runs import RunBuilder

BACK, UPDATE = ("backward", "loss", {}), ("scaler_update", "scaler", {"scale": 512.0})
LATE = ("step", "optimizer 1", {"scaler": True, "rescaled": True})
UNSCALE = ("unscale", "optimizer 1", {})


def told(*ops, scale=1024.0):
    builder = RunBuilder()
    builder.step(ops=ops, loss_scale=scale)
    return rescaled_updates(builder.run)


def test_tells_both_scales_of_an_update_that_came_late():
    found = told(BACK, UPDATE, LATE)
    assert found.found == [0]
    assert found.changed == {0: (1024.0, 512.0)}
    assert found.twice == []


def test_a_scale_that_stays_is_no_change():
    assert told(BACK, UPDATE, LATE, scale=512.0).changed == {}


def test_what_was_unscaled_before_the_update_is_unscaled_twice():
    assert told(BACK, UNSCALE, UPDATE, LATE).twice == [0]
    assert told(BACK, UPDATE, UNSCALE, LATE).twice == []


def test_a_step_in_time_is_left_out():
    assert told(BACK, ("step", "optimizer 1", {"scaler": True}), UPDATE).found == []
