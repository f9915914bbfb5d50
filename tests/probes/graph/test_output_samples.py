"""Some elements of outputs, and who called what put them out."""

import copy

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from ftlab.faults.builders.tiny import base, batches, lora
from ftlab.probes.graph.output_samples import KEPT, OutputSamples

IDS = {"input_ids": batches()[0]["input_ids"]}


def seen(model, *calls, part="lm_head"):
    samples = OutputSamples(model)
    try:
        for call in calls:
            call(**IDS)
    finally:
        samples.remove()
    return [each for each in samples.samples if each.path.endswith(part)]


def callers(model, *calls):
    return [each.caller for each in seen(model, *calls)]


def test_the_caller_is_told():
    model = base()
    assert callers(model, model, copy.copy(model), model) == ["model", "copy", "model"]
    plain = base()
    model = lora(plain)
    assert callers(model, model, plain) == ["model", "base"]


def test_a_part_that_is_run_by_something_else_is_left_out():
    class Around(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = base()

        def forward(self, **inputs):
            return self.inner(**inputs)

    around = Around()
    assert callers(around, around, around.inner) == ["model"]


def test_a_replica_of_the_model_is_left_out():
    model = base()
    replica = copy.copy(model)
    replica._is_replica = True
    assert callers(model, model, replica) == ["model"]


def test_a_pass_that_a_checkpoint_makes_again_counts_once():
    model = lora()

    def checkpointed(input_ids):
        checkpoint(model, input_ids, use_reentrant=False).logits.sum().backward()

    paths = [each.path for each in seen(model, checkpointed, part="")]
    assert len(paths) == len(set(paths)) == 2


def test_whether_the_adapter_is_on_is_told():
    model = lora()

    def without(**inputs):
        with model.disable_adapter():
            model(**inputs)

    states = [each.state for each in seen(model, model, without)]
    assert states == [(False, "default"), (True, "default")]


def test_a_list_of_parts_is_its_members():
    class Voting(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Embedding(128, 4)
            self.heads = nn.ModuleList(nn.Linear(4, 2) for _ in range(2))

        def forward(self, input_ids):
            hidden = self.body(input_ids)
            return sum(head(hidden) for head in self.heads)

    model = Voting()
    assert len(seen(model, model, part="heads.0")) == 1
    assert len(seen(model, model, part="heads.1")) == 1


def test_a_sample_is_small_is_a_copy_and_is_one_of_many():
    head = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2_000))
    samples = OutputSamples(head)
    outputs = [head(torch.randn(3, 40, 4)) for _ in range(KEPT + 1)]
    samples.remove()
    assert len(samples.samples) == KEPT
    last = samples.samples[-1]
    assert last.shape == (3, 40, 2_000)
    assert last.values.numel() <= 3 * 9 * 65
    kept = last.values.clone()
    outputs[-1].detach().zero_()
    assert torch.equal(last.values, kept)
    assert not last.values.requires_grad


def test_what_goes_wrong_in_a_hook_is_kept_and_not_raised(monkeypatch):
    model = base()
    samples = OutputSamples(model)
    monkeypatch.setattr(samples, "_keep", lambda *_: 1 / 0)
    model(**IDS)
    samples.remove()
    assert isinstance(samples.error, ZeroDivisionError)


def test_a_script_is_made_without_the_hooks():
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    samples = OutputSamples(model)
    script = torch.jit.script(model)
    samples.remove()
    assert torch.equal(script(torch.ones(4)), model(torch.ones(4)))
    assert not len(samples.samples)


@pytest.mark.parametrize("training", [True, False])
def test_an_encoder_layer_gets_no_hook_which_would_change_its_output(training):
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    model = nn.Sequential(nn.Linear(8, 8), layer, nn.Linear(8, 8)).train(training)
    for each in (model, nn.Sequential(layer), layer):
        samples = OutputSamples(each)
        assert not any(
            m._forward_hooks or m._forward_pre_hooks for m in layer.modules()
        )
        samples.remove()
