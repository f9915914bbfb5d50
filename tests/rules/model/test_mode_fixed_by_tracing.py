"""MOD019: dropouts that a graph has as constants."""

import numpy as np

from ftlab.records.names import NameRecord
from ftlab.records.step import Block
from ftlab.rules.model.mode_fixed_by_tracing import ModeFixedByTracing
from tests.runs import RunBuilder, found_by, only


def report(*steps):
    """``steps``: columns of table ``traced`` for one module."""
    builder = RunBuilder().facts(model={"class": "Toy"})
    meta = {"p": 0.5}
    builder.run.append(NameRecord(7, "traced", "encoder", "module", "", meta=meta))
    for step, columns in enumerate(steps):
        builder.step(values={"traced_modules": 2.0})
        for column, count in columns.items():
            values = {column: np.array([count], np.float32)}
            builder.run.append(Block("traced", step, np.array([7], np.int32), values))
    return found_by(ModeFixedByTracing(), builder.run)


def test_traced_modules_that_follow_their_mode_are_left_alone():
    assert report({}, {}) == ()


def test_dropouts_that_are_off_in_training_are_found():
    found = only(report({"fixed_off": 2}, {}, {"fixed_off": 2}), place="module encoder")
    assert (found.first_step, found.last_step) == (0, 2)
    assert found.evidence == {
        "reason": "off-in-training",
        "dropouts": 2,
        "threshold": 0,
    }
    assert "2 dropouts (up to 0.5)" in found.message


def test_dropouts_that_are_on_in_evaluation_are_found():
    found = only(report({}, {"fixed_on": 3}), reason="on-in-evaluation")
    assert "3 dropouts" in found.message
