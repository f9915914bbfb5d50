"""ADP023."""

from ftlab.records.finding import Place
from ftlab.rules.adapter.adapter_applied_twice import AdapterAppliedTwice
from tests.rules.reading.test_hand_merges import given
from tests.runs import RunBuilder, found_by, only, report_by


def report(slopes, sigma=0.01):
    row = {
        "modules": [f"layers.{index}.q" for index in range(len(slopes))],
        "slope": slopes,
        "sigma": [sigma] * len(slopes),
    }
    start = {"delta_in_base": {"default": row}}
    builder = RunBuilder().facts(model={"peft": {"default": {}}, "start": start})
    return report_by(AdapterAppliedTwice(), builder.run)


def test_names_the_base_weights():
    finding = only(report([1.0, 1.02, 0.99]).findings, "error")
    assert finding.place == Place("param", "layers.0.q.base_layer.weight")
    assert finding.places[-1] == Place("call", "merge_and_unload")
    assert (
        "3 of 3 base weights already contain what the adapter 'default' adds"
        in finding.message
    )


def test_an_unmerged_base_is_fine():
    assert report([0.0, 0.01, -0.02]) == report([0.02, 0.0, 0.0])
    assert report([0.0, 0.01, -0.02]).findings == ()


def test_a_delta_too_small_to_tell_is_not_checked():
    outcome = report([1.0, 1.0, 1.0], sigma=0.4)
    assert outcome.findings == ()
    assert "too small" in outcome.not_checked[0].reason


def test_an_adapter_along_its_base_is_not_checked():
    outcome = report([0.5, 0.6, 0.5])
    assert outcome.findings == ()
    assert "aligned with its base" in outcome.not_checked[0].reason


def by_hand(factor, live=1.0, **columns):
    builder = RunBuilder().facts(model={"peft": {"default": {}}, "start": {}}).step()
    given(builder, 0, {"q": factor, "v": factor}, live=live, **columns)
    return found_by(AdapterAppliedTwice(), builder.run)


def test_an_adapter_that_is_on_what_was_given_it_is_named():
    finding = only(by_hand(1.0), "error", "param q.base_layer.weight", reason="by-hand")
    assert "2 base weights were changed by 1 times" in finding.message
    assert by_hand(2.0)[0].evidence["factor"] == 2.0


def test_an_adapter_that_is_off_may_be_in_its_base():
    assert by_hand(1.0, live=0.0) == ()


def test_what_another_rule_tells_and_what_is_small_is_left():
    assert by_hand(0.25) == by_hand(1.0, turned=1.0) == by_hand(0.4) == ()
