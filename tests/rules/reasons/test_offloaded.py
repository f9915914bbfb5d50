"""Weights without a gradient that are offloaded."""

import pytest

from ftlab.records.names import NameRecord
from ftlab.rules.reasons.missing import Missing
from ftlab.rules.reasons.reach import reason_of
from tests.runs import RunBuilder


def name(text, **meta):
    return NameRecord(0, "tensors", text, "param", "", (2,), "float32", meta=meta)


AWAY, HERE = name("m.layers.1.w", offloaded=True), name("m.layers.0.w")
OPS = [("forward", "model", {"grad_enabled": True}), "backward", "step"]


@pytest.mark.parametrize(
    ("lost", "told"), [([AWAY], True), ([AWAY, HERE], False), ([HERE], False)]
)
def test_all_that_is_lost_must_be_offloaded(lost, told):
    builder = RunBuilder().steps(3, ops=OPS)
    reason = reason_of(builder.run, Missing(True, lost, [HERE]))
    assert (reason.kind == "offloaded") == told
    assert not told or str(reason.places[0]) == "config device_map"
