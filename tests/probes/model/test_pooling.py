"""Which classifiers look for their padding by an id."""

import pytest
import torch
import transformers
from peft import LoraConfig, get_peft_model

from ftlab.probes.model.pooling import pooling_pads

SMALL = {"vocab_size": 16, "num_labels": 2}
LLAMA = SMALL | {
    "hidden_size": 8,
    "intermediate_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
}
GPT2 = SMALL | {"n_embd": 8, "n_layer": 1, "n_head": 2}


def made(name, **settings):
    config = getattr(transformers, f"{name}Config")(**settings)
    return getattr(transformers, f"{name}ForSequenceClassification")(config)


@pytest.mark.parametrize(("name", "shape"), [("Llama", LLAMA), ("GPT2", GPT2)])
def test_decoders_look_for_the_pad_of_their_config(name, shape):
    assert pooling_pads(made(name, **shape, pad_token_id=3)) == {3}
    assert pooling_pads(made(name, **shape, pad_token_id=None)) == frozenset()


def test_adapters_hide_nothing():
    model = made("Llama", **LLAMA, pad_token_id=3)
    adapted = get_peft_model(model, LoraConfig(task_type="SEQ_CLS", r=2))
    assert pooling_pads(adapted) == {3}


def test_models_that_read_their_first_token_or_predict_words_look_for_none():
    bert = made("Bert", **LLAMA, pad_token_id=3)
    assert pooling_pads(bert) == frozenset()
    config = transformers.LlamaConfig(**LLAMA, pad_token_id=3)
    assert pooling_pads(transformers.LlamaForCausalLM(config)) == frozenset()
    assert pooling_pads(torch.nn.Linear(2, 2)) == frozenset()
