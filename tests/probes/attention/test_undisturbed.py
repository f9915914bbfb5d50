"""ftlab's own hooks do not hear a forward that only reads masks; others do."""

import contextlib

import torch
import transformers

import ftlab
from ftlab.probes.attention.undisturbed import undisturbed
from tests.probes.attention.tiny import SMALL


def test_own_hooks_are_put_aside_and_come_back():
    heard = []

    def own(module, inputs):
        heard.append("own")

    def foreign(module, inputs):
        heard.append("foreign")

    own.__module__ = "ftlab.probes.taps.forward"
    module = torch.nn.Linear(2, 2)
    module.register_forward_pre_hook(own)
    handle = module.register_forward_pre_hook(foreign)
    with undisturbed(module):
        module(torch.ones(1, 2))
        assert not torch.is_grad_enabled()
    assert heard == ["foreign"]
    module(torch.ones(1, 2))
    assert heard == ["foreign", "own", "foreign"]
    handle.remove()
    module(torch.ones(1, 2))
    assert heard[3:] == ["own"]


def test_hooks_that_come_or_go_meanwhile_stay_as_they_are():
    heard = []

    def own(module, inputs, output):
        heard.append("own")

    def hook(name):
        return lambda *_: heard.append(name)

    own.__module__ = "ftlab.probes.taps.forward"
    module = torch.nn.Linear(2, 2)
    first = module.register_forward_hook(hook("first"))
    module.register_forward_hook(own)
    module.register_forward_hook(hook("last"))
    with undisturbed(module):
        late = module.register_forward_hook(hook("late"))
        first.remove()
    module(torch.ones(1, 2))
    assert heard == ["own", "last", "late"]
    late.remove()
    module(torch.ones(1, 2))
    assert heard[3:] == ["own", "last"]


def llava():
    """Build a model that asks a tower for its hidden states, and a padded batch."""
    torch.manual_seed(0)
    vision = transformers.CLIPVisionConfig(**SMALL, image_size=8, patch_size=4)
    text = transformers.LlamaConfig(**SMALL, num_key_value_heads=2)
    config = transformers.LlavaConfig(
        vision_config=vision,
        text_config=text,
        image_token_id=3,
        vision_feature_layer=-1,
    )
    ids = torch.tensor([[1, 3, 3, 3, 3, 5, 6, 2], [1, 3, 3, 3, 3, 7, 2, 0]])
    batch = {
        "input_ids": ids,
        "attention_mask": (ids != 0).long(),
        "labels": ids.clone(),
        "pixel_values": torch.rand(2, 3, 8, 8),
    }
    return transformers.LlavaForConditionalGeneration(config), batch


def test_a_watched_model_that_asks_for_hidden_states_trains_as_it_would():
    losses = []
    for watched in (False, True):
        model, batch = llava()
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
        with ftlab.watch(model, optimizer) if watched else contextlib.nullcontext():
            for _ in range(2):
                loss = model(**batch).loss
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    assert losses[:2] == losses[2:]
