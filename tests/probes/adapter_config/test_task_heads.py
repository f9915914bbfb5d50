"""Frozen heads, and whether they look as drawn."""

import pytest
import torch
from torch import nn

from ftlab.faults.builders.heads import classifier
from ftlab.faults.builders.tiny import llama, lora, own
from ftlab.faults.builders.zoo import roberta
from ftlab.faults.variation import Variation, varied
from ftlab.probes.adapter_config.task_heads import frozen_heads


def heads(model):
    return frozen_heads(model.base_model.model, "base_model.model")


@pytest.mark.parametrize("family", ["llama", "gpt2", "neox"])
@pytest.mark.parametrize("seed", range(3))
def test_a_new_head_is_as_it_was_drawn(family, seed):
    with varied(Variation(family=family, seed=seed)):
        (head,) = heads(lora(classifier(), task_type=None))
    assert head["weight"] == "base_model.model.score.weight"
    assert head["fresh"] is True
    assert head["expected_std"] == 0.02
    assert head["std"] == pytest.approx(0.02, rel=0.25)


@pytest.mark.parametrize("change", ["scaled", "shifted"])
def test_a_head_that_changed_is_not(change):
    model = classifier()
    with torch.no_grad():
        weight = model.score.weight
        weight.copy_(weight * 1.5 if change == "scaled" else weight + 0.02)
    (head,) = heads(lora(model, task_type=None))
    assert head["fresh"] is False


def test_a_bias_that_is_not_zero_was_trained():
    model = lora(roberta(), target_modules=["query"], task_type=None)
    for module in model.base_model.model.classifier.modules():
        if isinstance(module, nn.Linear):
            nn.init.ones_(module.bias)
    assert [head["fresh"] for head in heads(model)] == [False, False]


def test_a_kept_head_is_not_frozen_though_its_original_is():
    model = lora(roberta(), target_modules=["query"], task_type="SEQ_CLS")
    assert heads(model) == []


def test_heads_for_words_belong_to_the_model():
    assert heads(lora(llama())) == []
    assert heads(lora(own())) == []


def test_a_head_of_ones_own_is_compared_with_what_linear_draws():
    torch.manual_seed(0)
    model = own()
    model.judge = nn.Linear(64, 3)
    model.requires_grad_(False)
    (head,) = frozen_heads(model, "")
    assert head["module"] == "judge"
    assert head["fresh"] is True
    assert head["expected_std"] == pytest.approx(1 / 192**0.5)
    with torch.no_grad():
        model.judge.weight.mul_(1.2)
    assert frozen_heads(model, "")[0]["fresh"] is False


def test_a_head_without_values_is_not_judged():
    with torch.device("meta"):
        model = lora(classifier(), task_type=None)
    (head,) = heads(model)
    assert head["fresh"] is False


class Reader(nn.Module):
    """Projects patches, works on them and sums up; nothing says what its body is."""

    def __init__(self):
        super().__init__()
        self.patch = nn.Linear(48, 24)
        self.worker = nn.Linear(24, 24)
        self.verdict = nn.Linear(24, 3)


def test_what_comes_before_the_adapters_is_no_head():
    torch.manual_seed(0)
    model = lora(Reader(), target_modules=["worker"], task_type=None)
    assert [head["module"] for head in heads(model)] == ["base_model.model.verdict"]
