"""Dropout of real models, in modules and in attention alone."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel

from ftlab.faults.builders.tiny import llama, lora
from ftlab.probes.seeds.dropouts import dropouts_of


def test_modules_are_counted_by_share():
    config = GPT2Config(n_embd=8, n_head=2, n_layer=2, vocab_size=9, attn_pdrop=0.2)
    said = dropouts_of(GPT2LMHeadModel(config))
    assert said == "0.1 in 5 modules, 0.2 in 2 modules"


def test_what_attention_drops_without_a_module_is_told():
    assert dropouts_of(llama(attention_dropout=0.3)) == "attention_dropout 0.3"


def test_a_model_that_drops_nothing_has_none():
    assert dropouts_of(lora()) == ""
    assert dropouts_of(torch.nn.Dropout(0.0)) == ""
