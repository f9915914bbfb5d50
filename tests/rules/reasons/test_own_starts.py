"""Adapters by hand whose second factor was drawn."""

import math

import numpy as np
import pytest

from ftlab.records.names import NameRecord
from ftlab.records.step import Block
from ftlab.rules.reasons.own_starts import own_drawn
from tests.runs import RunBuilder

LAW = math.sqrt(64 * 4 / (3 * 4))


def drawn(l2=LAW, off=0.5, *, of_peft=False):
    builder = RunBuilder()
    builder.tensor("x.widen.weight")
    meta = {"of_peft": of_peft, "rank": 4, "elements": 256, "second": "x.widen.weight"}
    builder.run.append(NameRecord(9, "starts", "x", "module", "", meta=meta))
    columns = {"second_l2": l2, "off_base": off}
    values = {name: np.array([each], np.float32) for name, each in columns.items()}
    builder.run.append(Block("starts", 0, np.array([9], np.int32), values))
    return [factor.name for _, factor, _ in own_drawn(builder.step().run)]


def test_a_factor_that_was_drawn():
    assert drawn() == ["x.widen.weight"]


@pytest.mark.parametrize(
    "change", [{"l2": 0.0}, {"l2": 2 * LAW}, {"off": 0.01}, {"of_peft": True}]
)
def test_what_is_left_alone(change):
    assert drawn(**change) == []


def test_a_run_without_such_layers():
    assert own_drawn(RunBuilder().step().run) == []
