"""A row token by token with a cache, and at once without."""

import pytest
import torch

import ftlab
from ftlab.executions.cached import cache
from ftlab.executions.side import NotApplicableError
from ftlab.faults.builders.tiny import own
from ftlab.records.errors import BadValueError
from tests.experiments.set_ups import gpt2, llama, lora, masked_lm, padded
from tests.experiments.test_cached_decoding import (
    cache_is_filled_with_other_values,
    cache_is_ignored,
    lively,
    mask_is_dropped,
)


def positions_begin_anew(model):
    def drop(_module, args, kwargs):
        length = args[0].shape[1]
        return args, kwargs | {"position_ids": torch.arange(length).expand(4, length)}

    model.transformer.register_forward_pre_hook(drop, with_kwargs=True)


def windowed():
    from transformers import MistralConfig, MistralForCausalLM

    torch.manual_seed(0)
    sizes = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    heads = {"num_key_value_heads": 2, "sliding_window": 4, "vocab_size": 128}
    return MistralForCausalLM(MistralConfig(intermediate_size=128, **sizes, **heads))


@pytest.mark.parametrize(
    "model",
    [
        lively,
        lambda: lively().bfloat16(),
        lambda: lively(gpt2).train(),
        lambda: lora(lively(), init_lora_weights=False, lora_dropout=0.5),
        windowed,
    ],
    ids=["llama", "bf16", "gpt2", "lora", "windowed"],
)
@pytest.mark.parametrize("left", [True, False])
def test_steps_with_a_cache_are_the_whole_rows(model, left):
    found = ftlab.diff(model(), padded(left=left), between="cache")
    assert found.equal
    assert found.differences.rows[-1].module == ""
    assert len(found.differences.tokens) == 36


@pytest.mark.parametrize(
    ("plant", "place"),
    [
        (positions_begin_anew, "transformer.wpe"),
        (mask_is_dropped, "transformer.h.0.attn"),
        (cache_is_ignored, "transformer.h.0.attn"),
        (cache_is_filled_with_other_values, "transformer.h.0.attn"),
    ],
)
def test_the_first_module_that_differs_is_named(plant, place):
    model = lively(gpt2)
    plant(model)
    before = {name: p.clone() for name, p in model.named_parameters()}
    found = ftlab.diff(model, padded(), between="cache")
    assert not found.equal
    assert found.born[0].module.startswith(place)
    assert found.headline().startswith("the whole rows and token by token with a cache")
    assert all(torch.equal(p, before[name]) for name, p in model.named_parameters())


def test_it_does_not_apply_without_a_cache_or_tokens():
    says = "between='cache' does not apply: OwnModel takes no past_key_values"
    with pytest.raises(BadValueError, match=says):
        ftlab.diff(own(), padded(), between="cache")
    with pytest.raises(NotApplicableError, match="BertForMaskedLM takes no past"):
        cache(*masked_lm())
    with pytest.raises(NotApplicableError, match="the batch has no input_ids"):
        cache(llama(), {})
