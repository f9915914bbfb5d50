"""ADP009."""

import numpy as np
import pytest

from ftlab.records.finding import Place
from ftlab.records.names import NameRecord
from ftlab.records.step import Block
from ftlab.rules.adapter.merge_off_its_delta import MergeOffItsDelta
from tests.rules.reading.test_hand_merges import given
from tests.runs import RunBuilder, only, places, reporter

report = reporter(MergeOffItsDelta())


def merged(factors, **columns):
    builder = RunBuilder().facts(model={"class": "Toy", "peft": {"default": {}}}).step()
    return given(builder, 0, factors, **columns)


def test_is_quiet_on_a_right_merge():
    assert report(merged({"q": 1.0, "v": 0.999})).findings == ()


def test_names_the_weights_the_factor_and_the_cause():
    finding = only(report(merged({"q": 0.25, "v": 0.25})).findings, "warning")
    assert finding.place == Place("param", "q.base_layer.weight")
    assert (
        "2 base weights contain 0.25 times what the adapter 'default'"
        in finding.message
    )
    assert "without its scaling of 4" in finding.cause
    assert finding.evidence["reason"] == "unscaled"
    assert (finding.evidence["factor"], finding.evidence["right"]) == (0.25, 1.0)


@pytest.mark.parametrize(
    ("factor", "columns", "reason"),
    [
        (4.0, {}, "repeated"),
        (0.5, {"scaling": 8.0}, "unrooted"),
        (1.0, {"turned": 1.0}, "transposed"),
    ],
)
def test_tells_what_was_done(factor, columns, reason):
    only(report(merged({"q": factor}, **columns)).findings, "warning", reason=reason)


def test_another_strength_is_a_note():
    only(report(merged({"q": 0.7, "v": 0.7})).findings, "info", reason="other")


def test_an_adapter_that_is_on_what_holds_it_is_left_to_another_rule():
    assert report(merged({"q": 2.0}, live=1.0)).findings == ()
    assert len(report(merged({"q": 0.25}, live=1.0)).findings) == 1


def test_each_adapter_is_told_once():
    builder = merged({"q": 0.25})
    given(builder.step(), 1, {"q": 0.5})
    assert len(report(builder).findings) == 1


def test_a_right_merge_that_is_made_again_is_told():
    builder = merged({"q": 1.0})
    given(builder.step(), 1, {"q": 2.0})
    only(report(builder).findings, steps=(1, 1))


def rounded(error, delta=1.0, **meta):
    """Build a run with one merge, of one layer."""
    builder = RunBuilder().facts(model={"class": "Toy"})
    meta = {"dtype": "bfloat16", "quantized": False, "packed": False} | meta
    builder.run.append(NameRecord(7, "merges", "m.q", "module", "", meta=meta))
    values = {"delta_l2": delta, "arrived_l2": 1.0, "error_l2": error}
    columns = {key: np.array([value], np.float32) for key, value in values.items()}
    builder.run.append(Block("merges", 0, np.array([7], np.int32), columns))
    ops = [("unload", "adapters", {"call": "merge_and_unload"})]
    return builder.step(ops=ops)


@pytest.mark.parametrize(
    ("error", "quantized", "found"),
    [(0.4, False, 0), (0.6, False, 1), (0.04, True, 0), (0.06, True, 1)],
)
def test_the_bound_is_lower_for_quantised_weights(error, quantized, found):
    assert len(report(rounded(error, quantized=quantized)).findings) == found


@pytest.mark.parametrize(("bits", "found"), [(4, 1), (8, 0)])
def test_eight_bits_are_judged_like_floating_point(bits, found):
    assert len(report(rounded(0.4, quantized=True, bits=bits)).findings) == found
    assert len(report(rounded(0.6, quantized=True, bits=bits)).findings) == 1


def test_the_layer_and_the_call_are_named():
    (finding,) = report(rounded(0.9, dtype="4-bit", quantized=True)).findings
    assert places(finding) == ["module m.q", "call merge_and_unload"]
    assert finding.evidence["error"] == pytest.approx(0.9)


def test_packed_weights_are_left_to_the_rule_about_packing():
    assert report(rounded(0.9, quantized=True, packed=True)).findings == ()


def test_an_adapter_that_adds_nothing_loses_nothing():
    assert report(rounded(0.0, delta=0.0)).findings == ()
