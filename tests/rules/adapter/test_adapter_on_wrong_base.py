"""ADP024."""

import pytest

from ftlab.records.finding import Place, Severity
from ftlab.rules.adapter.adapter_on_wrong_base import AdapterOnWrongBase
from tests.runs import RunBuilder, found_by, only, report_by


def sample(*values):
    return {"dtype": "float32", "shape": [8], "values": list(values)}


SAME = {f"layers.{i}.q.base_layer.weight": sample(1.0, 2.0) for i in range(4)}


def report(before=SAME, now=SAME, init="True", **more):
    start = {"base": now, "adapters": {"default": {"init": init}}} | more
    if before is not None:
        start["trained_as"] = {"base": before, "peft": {}}
    builder = RunBuilder().facts(model={"peft": {"default": {}}, "start": start})
    return report_by(AdapterOnWrongBase(), builder.run)


def changed(count, value=3.0):
    names = list(SAME)[:count]
    return SAME | {name: sample(1.0, value) for name in names}


def test_the_same_base_is_fine():
    assert report() == report(before=dict(SAME))
    assert report().findings == ()


def test_another_base_is_named():
    finding = only(report(now=changed(4)).findings, "warning")
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


KEY = {"projection_prng_key": [7, 0]}
PISSA = {"init_lora_weights": ["pissa", True]}


def off(off, slopes=(), sigma=0.01, loads=(), **more):
    file = {"folder": "a", "keys": 8, "adapter": "default", "start": off} | more
    row = {
        "slope": list(slopes),
        "sigma": [sigma] * len(slopes),
        "modules": [f"layers.{index}.q" for index in range(len(slopes))],
    }
    start = {"file": file, "delta_in_base": {"default": row}}
    builder = RunBuilder().facts(model={"peft": {"default": {}}, "start": start})
    builder.step(ops=loads)
    return found_by(AdapterOnWrongBase(), builder.run)


def test_what_was_begun_alike_is_fine():
    assert off({}) == ()


def test_names_the_key_that_is_another_one():
    finding = only(off(KEY), "error", "config projection_prng_key", reason="drawn")
    assert "saved with projection_prng_key=7, but the model has 0" in finding.message


def test_a_start_that_was_not_taken_from_the_base_is_told_by_the_base():
    finding = only(off(PISSA, slopes=[0.5, 0.4, 0.6]), place="config init_lora_weights")
    assert finding.evidence["reason"] == "residual"
    assert finding.evidence["slope"] == 0.5
    assert Place("param", "layers.0.q.base_layer.weight") in finding.places


def test_a_base_that_lacks_it_is_fine():
    assert off(PISSA, slopes=[0.0, 0.01, -0.2]) == ()
    assert off(PISSA, slopes=[0.5, 0.0, 0.0]) == ()


def test_one_module_or_an_uncertain_slope_proves_nothing():
    assert off(PISSA, slopes=[0.9]) == off(PISSA) == ()
    assert off(PISSA, slopes=[0.9, 0.9], sigma=0.3) == ()


def test_an_adapter_without_the_files_values_is_another_rules_matter():
    assert off(KEY, different=["q.lora_B"]) == ()
    assert off(KEY, keys=0) == ()


def test_a_load_in_the_run_is_told_at_its_step():
    detail = {"adapter": "default", "folder": "b", "start": KEY}
    (finding,) = off({}, loads=[("load", "adapter settings", detail)])
    assert finding.message.startswith("step 0: b was saved with")
    pissa = detail | {"start": PISSA}
    assert off({}, loads=[("load", "adapter settings", pissa)]) == ()
