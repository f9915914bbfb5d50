"""NUM010."""

import numpy as np

from ftlab.records.names import NameRecord
from ftlab.records.step import Block
from ftlab.rules.numeric.stale_weight_casts import TABLE, StaleWeightCasts
from tests.runs import RunBuilder, only, places, report_by


def report(*marks):
    builder = RunBuilder()
    for row, name in enumerate("ab"):
        builder.run.append(NameRecord(row, TABLE, name, "param", ""))
    for step, values in enumerate(marks):
        builder.step()
        if values:
            ids = np.arange(2, dtype=np.int32)
            column = {"stale": np.array(values, np.float32)}
            builder.run.append(Block(TABLE, step, ids, column))
    return report_by(StaleWeightCasts(), builder.run)


def test_finds_the_first_stale_weight():
    finding = only(report(None, (0, 1), None, (0, 1)).findings, "error", steps=(1, 3))
    assert places(finding) == ["call torch.autocast", "param b"]
    assert "1 layer of 2" in finding.message


def test_weights_that_were_compared_and_fit_are_fine():
    assert report(None, (0, 0)).findings == ()
