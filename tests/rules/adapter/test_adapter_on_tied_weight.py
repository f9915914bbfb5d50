"""ADP029."""

import warnings

import pytest

from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.tiny import adamw, batches, llama, lora
from ftlab.faults.fault import Case
from ftlab.records.finding import Place, Severity
from ftlab.rules.adapter.adapter_on_tied_weight import AdapterOnTiedWeight
from ftlab.session.score import record
from tests.runs import RunBuilder, found_by, only

WORDS = "base_model.model.model.embed_tokens"
HEAD = "base_model.model.lm_head"


def check(*names):
    model = {"peft": {"default": {}}, "tied": [list(names)]}
    run = RunBuilder().facts(model=model).run
    return found_by(AdapterOnTiedWeight(), run)


def test_an_adapter_on_one_side_is_noted():
    finding = only(check(f"{WORDS}.weight", f"{HEAD}.base_layer.weight"), "info")
    assert finding.place == Place("param", f"{WORDS}.weight")
    assert Place("config", "target_modules") in finding.places
    assert "lm_head" in finding.fix


@pytest.mark.parametrize("end", [".weight", ".base_layer.weight"])
def test_the_same_on_both_sides_is_fine(end):
    assert check(WORDS + end, HEAD + end) == ()


def test_a_copy_of_one_side_is_noted():
    finding = only(check(f"{WORDS}.original_module.weight", f"{HEAD}.weight"), "info")
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
    finding = only(found_by(AdapterOnTiedWeight(), builder.run), severity.label)
    assert (Place("param", copy) in finding.places) == (severity is Severity.WARNING)


def test_a_shared_module_with_one_adapter_is_a_warning_of_its_own():
    tied = [f"{WORDS}.base_layer.weight", f"{HEAD}.weight"]
    model = {"peft": {"default": {}}, "tied": [tied], "half_wrapped": {WORDS: [HEAD]}}
    run = RunBuilder().facts(model=model).run
    finding = only(found_by(AdapterOnTiedWeight(), run), "warning")
    assert finding.place == Place("module", HEAD)
    assert finding.evidence["reason"] == "half-wrapped"


def merging(method, targets, *, tied=True):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = lora(llama(tie_word_embeddings=tied), target_modules=targets)
        optimizer = adamw(model, lr=2e-2)
        step = plain_step(model, optimizer)
        acts = {
            None: None,
            "merge_adapter": lambda: model.merge_adapter(),
            "merge_and_unload": lambda: model.merge_and_unload(),
        }
        case = Case(model, optimizer, batches(), step, afterwards=acts[method])
        found = found_by(AdapterOnTiedWeight(), record(case, 4))
        return [each for each in found if each.evidence["reason"] == "merged"]


@pytest.mark.parametrize("method", ["merge_adapter", "merge_and_unload"])
@pytest.mark.parametrize("target", ["lm_head", "embed_tokens"])
def test_the_other_module_is_named_first(method, target):
    finding = only(merging(method, ["q_proj", target]), "error")
    other = {"lm_head": "embed_tokens", "embed_tokens": "lm_head"}[target]
    assert finding.place.name.endswith(f"{other}.weight")
    assert finding.evidence["change"] > 1
    assert f"call {method}" in map(str, finding.places)


@pytest.mark.parametrize(
    ("method", "targets", "tied"),
    [
        (None, ["q_proj", "lm_head"], True),
        ("merge_adapter", ["q_proj"], True),
        ("merge_adapter", ["q_proj", "lm_head"], False),
    ],
)
def test_is_quiet_without_a_merge_of_a_tied_weight(method, targets, tied):
    assert merging(method, targets, tied=tied) == []
