"""ADP024."""

import pytest

from ftlab.records.finding import Place, Severity
from ftlab.rules.adapter.adapter_on_wrong_base import AdapterOnWrongBase
from ftlab.rules.engine import Engine
from tests.runs import RunBuilder, healthy_lora


def sample(*values):
    return {"dtype": "float32", "shape": [8], "values": list(values)}


SAME = {f"layers.{i}.q.base_layer.weight": sample(1.0, 2.0) for i in range(4)}


def report(before=SAME, now=SAME, init="True", **more):
    start = {"base": now, "adapters": {"default": {"init": init}}} | more
    if before is not None:
        start["trained_as"] = {"base": before, "peft": {}}
    builder = RunBuilder().facts(model={"peft": {"default": {}}, "start": start})
    return Engine([AdapterOnWrongBase()]).check(builder.run)


def changed(count, value=3.0):
    names = list(SAME)[:count]
    return SAME | {name: sample(1.0, value) for name in names}


def test_is_left_out_where_nothing_is_known_of_the_training():
    outcome = Engine([AdapterOnWrongBase()]).check(healthy_lora().run)
    assert (outcome.findings, outcome.not_checked) == ((), ())


def test_the_same_base_is_fine():
    assert report() == report(before=dict(SAME))
    assert report().findings == ()


def test_another_base_is_named():
    (finding,) = report(now=changed(4)).findings
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("param", next(iter(SAME)))
    assert finding.places[-1] == Place("config", "base_model_name_or_path")
    assert "4 of the 4 sampled base weights" in finding.message


@pytest.mark.parametrize(
    ("count", "severity"), [(1, Severity.INFO), (2, Severity.WARNING)]
)
def test_half_of_the_weights_make_a_warning(count, severity):
    assert report(now=changed(count)).findings[0].severity is severity


def test_initialisations_on_the_base_are_given_room():
    assert report(now=changed(4, 2.05), init="pissa").findings == ()
    assert len(report(now=changed(4, 2.05)).findings) == 1


def test_a_merged_base_is_another_rules_matter():
    row = {"modules": ["a", "b"], "slope": [1.0, 1.0], "sigma": [0.01, 0.01]}
    outcome = report(now=changed(4), delta_in_base={"default": row})
    assert outcome.findings == ()


def test_a_base_that_cannot_be_sampled_is_not_checked():
    (entry,) = report(now={}).not_checked
    assert "quantised" in entry.reason


@pytest.mark.parametrize(
    ("saved", "live", "found"),
    [
        ("org/llama-v0.1", "org/llama-v0.2", 1),
        ("org/llama-v0.1", "/models/Llama-v0.1/", 0),
        ("", "org/llama", 0),
    ],
)
def test_names_are_compared_where_there_is_no_sample(saved, live, found):
    file = {"folder": "a", "saved_base": saved, "live_base": live}
    findings = report(before=None, file=file).findings
    assert len(findings) == found
    assert all(each.severity is Severity.INFO for each in findings)
