import pytest

from ftlab.probes.quantisation.four_bit import four_bit_layers, is_mixed_up, is_packed
from ftlab.probes.quantisation.four_bit_facts import four_bit_facts, packing_signature
from tests.models import tiny_4bit, tiny_llama, tiny_lora


@pytest.fixture
def quantised(tmp_path):
    pytest.importorskip("bitsandbytes")
    return tiny_4bit(tmp_path)


def test_a_model_in_floating_point_has_none():
    assert four_bit_facts(tiny_llama()) == {}


def test_layers_are_counted_and_described(quantised):
    facts = four_bit_facts(quantised)
    assert facts["layers"] == 14
    assert facts["types"] == {"nf4": 14}
    assert facts["compute_dtypes"] == {"bfloat16": 14}
    assert facts["nested"] == {"False": 14}
    assert facts["packable"] == facts["packed"] == facts["mixed_up"] == []
    assert facts["asked"]["load_in_4bit"] is True
    assert facts["unquantised"] == {}


def test_a_layer_within_an_adapter_has_the_adapter_layers_name(quantised):
    model = tiny_lora(quantised)
    names = four_bit_facts(model)["names"]
    assert len(names) == 14
    assert "base_model.model.model.layers.0.self_attn.q_proj" in names


def test_the_states_of_a_weight_are_told_apart(quantised):
    _, layer = next(four_bit_layers(quantised))
    state = layer.weight.quant_state
    assert not is_packed(layer)
    assert not is_mixed_up(layer)
    assert packing_signature(quantised.parameters()) is False
    state.packing_format_for_cpu = True
    assert is_packed(layer)
    assert packing_signature(quantised.parameters()) is True
    state.packing_format_for_cpu = False
    state.absmax = state.absmax.reshape(2, -1)
    assert is_mixed_up(layer)
