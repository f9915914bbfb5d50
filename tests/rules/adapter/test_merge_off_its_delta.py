"""ADP052."""

import pytest

from ftlab.records.finding import Place, Severity
from ftlab.rules.adapter.merge_off_its_delta import MergeOffItsDelta
from ftlab.rules.engine import Engine
from tests.rules.reading.test_hand_merges import given
from tests.runs import RunBuilder, healthy_lora


def report(builder):
    return Engine([MergeOffItsDelta()]).check(builder.run)


def merged(factors, **columns):
    builder = RunBuilder().facts(model={"class": "Toy", "peft": {"default": {}}}).step()
    return given(builder, 0, factors, **columns)


def test_is_quiet_on_a_healthy_run_and_on_a_right_merge():
    assert report(healthy_lora()).findings == ()
    assert report(merged({"q": 1.0, "v": 0.999})).findings == ()


def test_names_the_weights_the_factor_and_the_cause():
    (finding,) = report(merged({"q": 0.25, "v": 0.25})).findings
    assert finding.severity is Severity.WARNING
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
    (finding,) = report(merged({"q": factor}, **columns)).findings
    assert finding.evidence["reason"] == reason
    assert finding.severity is Severity.WARNING


def test_another_strength_is_a_note():
    (finding,) = report(merged({"q": 0.7, "v": 0.7})).findings
    assert finding.severity is Severity.INFO
    assert finding.evidence["reason"] == "other"


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
    (finding,) = report(builder).findings
    assert (finding.first_step, finding.last_step) == (1, 1)
