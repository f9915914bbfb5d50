"""ADP009."""

import numpy as np
import pytest

from ftlab.records.names import NameRecord
from ftlab.records.step import Block
from ftlab.rules.adapter.merge_loses_adapter import MergeLosesAdapter
from ftlab.rules.engine import Engine
from tests.runs import RunBuilder, healthy_lora


def report(builder):
    return Engine([MergeLosesAdapter()]).check(builder.run)


def merged(error, delta=1.0, **meta):
    """Build a run with one merge, of one layer."""
    builder = RunBuilder().facts(model={"class": "Toy"})
    meta = {"dtype": "bfloat16", "quantized": False, "packed": False} | meta
    builder.run.append(NameRecord(7, "merges", "m.q", "module", "", meta=meta))
    values = {"delta_l2": delta, "arrived_l2": 1.0, "error_l2": error}
    columns = {key: np.array([value], np.float32) for key, value in values.items()}
    builder.run.append(Block("merges", 0, np.array([7], np.int32), columns))
    ops = [("unload", "adapters", {"call": "merge_and_unload"})]
    return builder.step(ops=ops)


def test_is_quiet_on_a_healthy_run():
    assert report(healthy_lora()).findings == ()


@pytest.mark.parametrize(
    ("error", "quantized", "found"),
    [(0.4, False, 0), (0.6, False, 1), (0.04, True, 0), (0.06, True, 1)],
)
def test_the_bound_is_lower_for_quantised_weights(error, quantized, found):
    assert len(report(merged(error, quantized=quantized)).findings) == found


@pytest.mark.parametrize(("bits", "found"), [(4, 1), (8, 0)])
def test_eight_bits_are_judged_like_floating_point(bits, found):
    assert len(report(merged(0.4, quantized=True, bits=bits)).findings) == found
    assert len(report(merged(0.6, quantized=True, bits=bits)).findings) == 1


def test_the_layer_and_the_call_are_named():
    (finding,) = report(merged(0.9, dtype="4-bit", quantized=True)).findings
    assert [str(place) for place in finding.places] == [
        "module m.q",
        "call merge_and_unload",
    ]
    assert finding.evidence["error"] == pytest.approx(0.9)


def test_packed_weights_are_left_to_the_rule_about_packing():
    assert report(merged(0.9, quantized=True, packed=True)).findings == ()


def test_an_adapter_that_adds_nothing_loses_nothing():
    assert report(merged(0.0, delta=0.0)).findings == ()
