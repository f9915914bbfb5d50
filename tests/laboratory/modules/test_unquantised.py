"""Layers that should be in few bits and are not, with what that costs."""

import pytest
import torch
from torch import nn

import ftlab
from ftlab.faults.builders.tiny import lora
from ftlab.laboratory.modules.unquantised import unquantised
from tests.laboratory.modules.wrapped import Named
from tests.models import tiny_4bit, tiny_llama


def in_floating_point(layer):
    from bitsandbytes.functional import dequantize_4bit

    made = nn.Linear(layer.in_features, layer.out_features, bias=False)
    whole = dequantize_4bit(layer.weight.data, layer.weight.quant_state)
    made.weight = nn.Parameter(whole.to(torch.bfloat16), requires_grad=False)
    return made


@pytest.fixture
def model(tmp_path):
    return tiny_4bit(tmp_path)


def test_only_the_head_is_left_out_and_on_purpose(model):
    (head,) = unquantised(model)
    assert head.path == "lm_head"
    assert head.skipped == "lm_head is skipped (by default)"
    assert "!" not in "".join(ftlab.model(model).said())


@pytest.mark.parametrize("around", [lambda m: m, lora, lambda m: Named(lora(m))])
def test_a_layer_in_16_bits_is_named_with_its_cost(model, around):
    attention = model.model.layers[1].self_attn
    before = ftlab.model(model).anatomy.modules[0].bytes
    attention.o_proj = in_floating_point(attention.o_proj)
    more = ftlab.model(model).anatomy.modules[0].bytes - before
    whole = around(model)
    found = [each for each in unquantised(whole) if not each.skipped]
    (layer,) = found
    assert layer.path.endswith("model.layers.1.self_attn.o_proj")
    assert layer.bytes - layer.measured == pytest.approx(more, rel=0.02)
    assert layer.bytes - layer.predicted == pytest.approx(more, rel=0.02)
    assert "! asked for and not in 4 bits: 1 layer" in repr(ftlab.model(whole))


def test_adapters_are_no_layers_left_out(model):
    assert [each.path for each in unquantised(lora(model))] == [
        "base_model.model.lm_head"
    ]


def test_what_is_skipped_by_name_says_which(tmp_path):
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig

    tiny_llama(hidden_size=128).save_pretrained(tmp_path)
    made = AutoModelForCausalLM.from_pretrained(
        tmp_path,
        dtype=torch.bfloat16,
        quantization_config=BitsAndBytesConfig(
            load_in_4bit=True, llm_int8_skip_modules=["o_proj", "lm_head"]
        ),
    )
    found = unquantised(made)
    assert {each.skipped for each in found} == {
        "o_proj is skipped (llm_int8_skip_modules)",
        "lm_head is skipped (llm_int8_skip_modules)",
    }
    del made.hf_quantizer
    assert unquantised(made) == found


def test_a_model_without_such_a_configuration_has_none():
    assert unquantised(lora()) == ()
