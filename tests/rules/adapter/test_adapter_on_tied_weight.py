"""ADP029."""

import pytest

from ftlab.records.finding import Place, Severity
from ftlab.rules.adapter.adapter_on_tied_weight import AdapterOnTiedWeight
from ftlab.rules.engine import Engine
from tests.runs import RunBuilder, healthy_lora

WORDS = "base_model.model.model.embed_tokens"
HEAD = "base_model.model.lm_head"


def check(*names):
    model = {"peft": {"default": {}}, "tied": [list(names)]}
    run = RunBuilder().facts(model=model).run
    return Engine([AdapterOnTiedWeight()]).check(run).findings


def test_is_quiet_on_a_healthy_run():
    assert Engine([AdapterOnTiedWeight()]).check(healthy_lora().run).findings == ()


def test_an_adapter_on_one_side_is_noted():
    (finding,) = check(f"{WORDS}.weight", f"{HEAD}.base_layer.weight")
    assert finding.severity is Severity.INFO
    assert finding.place == Place("param", f"{WORDS}.weight")
    assert Place("config", "target_modules") in finding.places
    assert "lm_head" in finding.fix


@pytest.mark.parametrize("end", [".weight", ".base_layer.weight"])
def test_the_same_on_both_sides_is_fine(end):
    assert check(WORDS + end, HEAD + end) == ()


def test_a_copy_of_one_side_is_noted():
    (finding,) = check(f"{WORDS}.original_module.weight", f"{HEAD}.weight")
    assert finding.severity is Severity.INFO
    assert finding.evidence["reason"] == "copy"


@pytest.mark.parametrize(
    ("group", "gradient", "severity"),
    [
        (0, 1.0, Severity.WARNING),
        (0, 0.0, Severity.INFO),
        (-1, 1.0, Severity.INFO),
    ],
)
def test_a_copy_that_is_trained_is_a_warning(group, gradient, severity):
    builder = RunBuilder()
    copy = f"{WORDS}.modules_to_save.default.weight"
    builder.tensor(copy, meta={"group": group})
    names = [f"{WORDS}.original_module.weight", f"{HEAD}.weight"]
    builder.facts(model={"peft": {"default": {}}, "tied": [names]})
    builder.step({"grad_l2": gradient})
    (finding,) = Engine([AdapterOnTiedWeight()]).check(builder.run).findings
    assert finding.severity is severity
    assert (Place("param", copy) in finding.places) == (severity is Severity.WARNING)


def test_a_shared_module_with_one_adapter_is_a_warning_of_its_own():
    tied = [f"{WORDS}.base_layer.weight", f"{HEAD}.weight"]
    model = {"peft": {"default": {}}, "tied": [tied], "half_wrapped": {WORDS: [HEAD]}}
    run = RunBuilder().facts(model=model).run
    (finding,) = Engine([AdapterOnTiedWeight()]).check(run).findings
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("module", HEAD)
    assert finding.evidence["reason"] == "half-wrapped"
