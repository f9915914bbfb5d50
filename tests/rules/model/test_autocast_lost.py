"""MOD026: mixed precision that ended because its wrapper is gone."""

import numpy as np
import pytest

from ftlab.records.names import NameRecord
from ftlab.records.step import Block
from ftlab.rules.model.autocast_lost import AutocastLost
from tests.runs import RunBuilder, found_by, only

ON, OFF = (8, True), (0, False)


def report(*looks):
    """Report on steps of which each tells the calls inside, and the wrapper."""
    builder = RunBuilder()
    meta = {"dtype": "bfloat16"}
    builder.run.append(NameRecord(0, "autocast", "model", "module", "", meta=meta))
    for step, (inside, wrapped) in enumerate(looks):
        values = {"calls": 9, "inside": inside, "wrapped": wrapped}
        columns = {name: np.array([v], np.float32) for name, v in values.items()}
        builder.run.append(Block("autocast", step, np.zeros(1, np.int32), columns))
        builder.step(values={"recomputed": 0.0})
    return found_by(AutocastLost(), builder.run)


def test_tells_when_it_was_last_on():
    found = only(report(ON, ON, OFF, OFF), place="call unwrap_model")
    assert "last seen on at step 1" in found.message
    assert (found.first_step, found.last_step) == (2, 3)


@pytest.mark.parametrize(
    "looks",
    [
        (ON, ON, ON),
        (OFF, OFF, OFF),
        (ON, ON, OFF),
        (ON, OFF, OFF, ON),
        (ON, (0, True), (0, True)),
        ((8, False), OFF, OFF),
        (ON, (8, False), (8, False)),
    ],
    ids=[
        "always",
        "never",
        "at-the-last-step-only",
        "prepared-again",
        "switched-off-within",
        "not-by-a-wrapper",
        "by-the-loop-now",
    ],
)
def test_leaves_alone_what_may_be_meant(looks):
    assert report(*looks) == ()
