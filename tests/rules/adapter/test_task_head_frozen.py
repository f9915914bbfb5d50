"""ADP015."""

import torch

from ftlab.faults.builders.heads import classifier
from ftlab.faults.builders.tiny import llama, lora
from ftlab.rules.adapter.task_head_frozen import TaskHeadFrozen
from tests.runs import only, places
from tests.wired import findings


def check(model, **settings):
    return findings(TaskHeadFrozen(), model, **settings)


def test_a_fresh_head_that_is_frozen():
    (finding,) = check(lora(classifier(), task_type=None))
    assert places(finding) == [
        "param base_model.model.score.weight",
        "config task_type",
        "config modules_to_save",
    ]
    assert "initialized with 0.02" in finding.message


def test_a_head_that_is_kept_or_trained_by_hand_is_quiet():
    assert check(lora(classifier(), task_type="SEQ_CLS")) == ()
    model = lora(classifier(), task_type=None)
    model.base_model.model.score.weight.requires_grad_(True)
    assert check(model) == ()


def test_a_head_that_was_trained_before_is_quiet():
    model = classifier()
    with torch.no_grad():
        model.score.weight.mul_(2)
    assert check(lora(model, task_type=None)) == ()


def test_the_head_of_a_causal_model_belongs_to_it():
    assert check(lora(llama())) == ()


def test_a_model_that_is_not_trained_is_left_alone():
    model = lora(classifier(), task_type=None)
    assert check(model, optimizers=()) == ()
    assert check(model.requires_grad_(False)) == ()


def test_an_adapter_on_a_fresh_head_has_nothing_to_stand_on():
    model = lora(classifier(), task_type=None, target_modules=["q_proj", "score"])
    finding = only(check(model), reason="adapted")
    assert places(finding)[:2] == [
        "param base_model.model.score.base_layer.weight",
        "config target_modules",
    ]


def test_adapters_on_heads_that_exist_or_are_kept_are_quiet():
    assert check(lora(llama(), target_modules=["q_proj", "lm_head"])) == ()
    targets = ["q_proj", "score"]
    assert check(lora(classifier(), target_modules=targets, task_type="SEQ_CLS")) == ()
    learned = classifier()
    with torch.no_grad():
        learned.score.weight.mul_(2)
    assert check(lora(learned, task_type=None, target_modules=targets)) == ()
