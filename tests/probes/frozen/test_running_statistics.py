"""How often batch norms gather a batch in forward, and again in backward."""

import pytest
import torch
from peft import LoraConfig, get_peft_model
from torch import nn
from torch.utils.checkpoint import checkpoint

from ftlab.probes.frozen.running_statistics import RunningStatistics
from ftlab.probes.recorder import Recorder
from ftlab.probes.subject import Subject
from ftlab.records.step import Block
from tests.models import update


class Normed(nn.Module):
    def __init__(self, again, **settings):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4, **settings))
        self.again = again

    def forward(self, inputs):
        if self.again:
            return checkpoint(self.body, inputs, use_reentrant=False)
        return self.body(inputs)


def gathered(model, forwards=1):
    """Return what was gathered in forward and again, at each step."""
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    records = []
    subject = Subject(model, [optimizer])
    with Recorder(subject, [RunningStatistics()], records.append):
        for _ in range(2):
            outputs = [model(torch.randn(8, 4)) for _ in range(forwards)]
            update(sum(output.square().sum() for output in outputs), optimizer)
    blocks = [each.values for each in records if isinstance(each, Block)]
    return [(b["gathered"].tolist(), b["gathered_again"].tolist()) for b in blocks]


def test_a_checkpointed_batch_norm_gathers_twice():
    assert gathered(Normed(again=True)) == [([1.0], [1.0])] * 2


@pytest.mark.parametrize("forwards", [1, 2])
def test_without_checkpoints_nothing_is_gathered_in_backward(forwards):
    assert gathered(Normed(again=False), forwards) == []


def test_an_average_over_all_batches_does_not_mind():
    assert gathered(Normed(again=True, momentum=None)) == []


def test_no_hook_stays():
    model = Normed(again=True)
    gathered(model)
    assert not model._forward_hooks


def adapted(**settings):
    """Put LoRA on the linear layer beside a batch norm."""
    model = Normed(again=False)
    return get_peft_model(model, LoraConfig(target_modules=["body.0"], **settings))


def test_statistics_beside_an_adapter_are_told():
    assert gathered(adapted()) == [([1.0], [0.0])] * 2


def test_those_of_a_copy_in_modules_to_save_are_saved():
    assert gathered(adapted(modules_to_save=["body.1"])) == []


def test_those_in_evaluation_mode_do_not_move():
    model = adapted()
    model.base_model.model.body[1].eval()
    assert gathered(model) == []
