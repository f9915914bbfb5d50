"""ADP043."""

import numpy as np
import pytest

from ftlab.records.names import NameRecord
from ftlab.records.step import Block
from ftlab.rules.adapter.start_off_base import APART, StartOffBase
from ftlab.rules.engine import Engine
from ftlab.runlog.run import Run
from tests.runs import only

SCALED = {"factor": 0, "off_base": 0.7, "off_scaled": 1e-6, "off_biasless": 0.7}
BIASLESS = {"factor": 0, "off_base": 0.3, "off_scaled": 0.3, "off_biasless": 1e-6}
NONE = {"factor": 0, "off_base": 0.7, "off_scaled": 0.6, "off_biasless": np.nan}


def findings(**values):
    run = Run()
    meta = {"role": "wrapper", "base": "x.base.weight", "vectors": "x.m"}
    run.append(NameRecord(0, "starts", "x", "module", "", meta=meta))
    rows = {"magnitude": 2.0} | values
    columns = {name: np.array([value], np.float32) for name, value in rows.items()}
    run.append(Block("starts", 0, np.array([0], np.int32), columns))
    return Engine([StartOffBase()]).check(run).findings


@pytest.mark.parametrize(
    ("values", "reason", "places"),
    [
        (SCALED, "magnitude", ["module x", "param x.m"]),
        (BIASLESS, "no-bias", ["module x"]),
    ],
)
def test_a_reason_that_is_proven(values, reason, places):
    finding = only(findings(**values), reason=reason)
    assert [str(place) for place in finding.places] == places


@pytest.mark.parametrize(
    "change",
    [{"factor": 0.1}, {"off_base": APART}, {"off_scaled": 0.2}, {"off_scaled": 0.03}],
)
def test_what_is_not_proven_is_left_alone(change):
    assert findings(**SCALED | change) == ()


def test_a_distance_that_nothing_explains():
    assert findings(**NONE) == ()
