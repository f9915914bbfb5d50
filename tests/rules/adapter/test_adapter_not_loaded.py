"""ADP026."""

import pytest

from ftlab.records.finding import Place, Severity
from ftlab.rules.adapter.adapter_not_loaded import AdapterNotLoaded
from ftlab.rules.engine import Engine
from ftlab.rules.not_loaded_causes import CAUSES
from tests.runs import RunBuilder, healthy_lora

B = "model.q.lora_B.default.weight"


def check(start, step=0, **model):
    facts = {"peft": {"default": {}}, "start": start, "trainable": 8} | model
    builder = RunBuilder().facts(step=step, model=facts)
    return Engine([AdapterNotLoaded()]).check(builder.run).findings


def file(**more):
    return {"file": {"folder": "a", "keys": 8} | more}


def state(zero=2, trainable=True, saved_from="", base_class="Llama"):
    row = {
        "pairs": 2,
        "zero_b": zero,
        "trainable": trainable,
        "saved_from": saved_from,
        "scaling": {"model.q": 1.0, "model.v": 1.0},
    }
    return {"adapters": {"default": row}, "base_class": base_class}


def test_is_quiet_on_a_healthy_run():
    assert Engine([AdapterNotLoaded()]).check(healthy_lora().run).findings == ()


@pytest.mark.parametrize(
    "reason", ["compiled", "parallel", "other-class", "other-model"]
)
def test_says_why_keys_are_not_read(reason):
    (finding,) = check(file(unread=["x", "y"], reason=reason, absent=[B]))
    assert finding.severity is Severity.ERROR
    assert finding.evidence["reason"] == reason
    assert finding.places == (Place("file", "adapter keys"), Place("param", B))
    assert "2 of 8 keys of the file are not read" in finding.message
    assert finding.cause == CAUSES[reason][0]


def test_values_that_are_not_the_files():
    (finding,) = check(file(live_zero_b=[B], different=[B, "other"]))
    assert finding.evidence == {"reason": "values", "tensors": 1}
    assert len(check(file(different=[B]))) == 1


def test_a_file_that_was_read_is_fine_whatever_the_state():
    assert check(file(unread=[]) | state(), trainable=0) == ()


def test_a_fresh_adapter_that_is_trained_is_fine():
    assert check(state()) == ()


def test_a_model_of_which_nothing_is_trained_has_loaded_nothing():
    (finding,) = check(state(trainable=False), trainable=0)
    assert finding.evidence["reason"] == "zero"
    assert finding.place == Place("param", B)
    assert Place("config", "inference_mode") in finding.places
    assert check(state(zero=1, trainable=False), trainable=0) == ()


def test_a_frozen_reference_beside_what_is_trained_is_fine():
    assert check(state(trainable=False), trainable=8) == ()


def test_the_class_that_it_was_saved_from_is_not_the_one_it_is_on():
    (finding,) = check(state(saved_from="LlamaForCausalLM", base_class="LlamaModel"))
    assert finding.evidence["reason"] == "other-class"
    assert "saved from LlamaForCausalLM, put on LlamaModel" in finding.message
    assert check(state(saved_from="LlamaModel", base_class="LlamaModel")) == ()


def test_a_run_that_goes_on_does_not_begin_at_zero():
    (finding,) = check(state(), step=100)
    assert finding.evidence["reason"] == "resumed-at-zero"
    assert finding.first_step == 100
    assert check(state(zero=1), step=100) == ()
