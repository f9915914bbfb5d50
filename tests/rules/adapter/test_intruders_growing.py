"""ADP063: directions that the base has not."""

import numpy as np
import pytest

from ftlab.records.names import NameRecord
from ftlab.records.step import Block
from ftlab.rules.adapter.intruders_growing import IntrudersGrowing
from tests.runs import RunBuilder, only, places, report_by


def check(*counts):
    """Count in three layers at each step."""
    builder = RunBuilder()
    for row in range(3):
        meta = {"module": f"model.layers.{row}.q", "adapter": "default"}
        name = f"model.layers.{row}.q [default]"
        layer = f"layers.{row}"
        record = NameRecord(row, "directions", name, "adapter", layer, meta=meta)
        builder.run.append(record)
    for step, values in enumerate(counts):
        column = {"intruders": np.asarray(values, np.float32)}
        builder.run.append(
            Block("directions", step, np.arange(3, dtype=np.int32), column)
        )
        builder.step()
    report = report_by(IntrudersGrowing(), builder.run)
    assert report.not_checked == ()
    return report.findings


def test_half_of_the_largest_directions_are_new():
    found = only(check((0, 0, 0), (1, 2, 3), (4, 6, 7)), steps=(2, 2))
    assert "6 are new to the base (median of 3 layers), 0 at step 0" in found.message
    assert places(found) == ["module model.layers.2.q", "module model.layers.1.q"]


@pytest.mark.parametrize(
    ("counts", "found"),
    [
        (((0, 0, 0), (5, 5, 0)), 1),
        (((0, 0, 0), (4, 4, 10)), 0),
        (((6, 6, 6), (6, 6, 6)), 0),
        (((6, 6, 6),), 0),
    ],
)
def test_it_takes_half_in_most_layers_and_growth(counts, found):
    assert len(check(*counts)) == found
