"""Frozen parts whose batch norms go on averaging."""

import numpy as np
import pytest

from ftlab.records.names import NameRecord
from ftlab.records.step import Block
from ftlab.rules.model.statistics_not_frozen import SHIFT, StatisticsNotFrozen
from tests.runs import RunBuilder, report_by


def report(shift=1.0, steps=5, part="m.body", written=""):
    builder = RunBuilder().facts(model={"parameters": 1})
    meta = {"unsaved": False, "frozen": part}
    norm = NameRecord(7000, "statistics", "m.body.norm", "module", "", meta=meta)
    builder.run.append(norm)
    if written:
        builder.run.append(NameRecord(7001, "frozen", written, "param", ""))
    for step in range(steps):
        values = {"gathered": 1.0, "gathered_again": 0.0, "shifted": shift * step}
        arrays = {name: np.array([each], np.float32) for name, each in values.items()}
        builder.run.append(
            Block("statistics", step, np.array([7000], np.int32), arrays)
        )
        if written:
            moved = {"delta_max": np.ones(1, np.float32)}
            builder.run.append(Block("frozen", step, np.array([7001], np.int32), moved))
        builder.step()
    return report_by(StatisticsNotFrozen(), builder.run)


def test_a_norm_that_moves_far_is_told_with_its_shift():
    (finding,) = report().findings
    assert str(finding.places[0]) == "module m.body.norm"
    assert finding.evidence["shift"] == pytest.approx(4.0)
    assert ".eval()" in finding.fix


@pytest.mark.parametrize(
    "settings",
    [
        {"shift": 0.9 * SHIFT / 4},
        {"steps": 3},
        {"part": ""},
        {"written": "m.body.conv.weight"},
    ],
)
def test_small_moves_short_runs_and_averaged_weights_are_no_finding(settings):
    assert report(**settings).findings == ()


def test_weights_that_are_written_elsewhere_excuse_nothing():
    assert report(written="m.other.weight").findings
