import torch
from peft import AdaLoraConfig, LoraConfig, get_peft_model

from ftlab.probes.adapter.lora_pairs import lora_pairs
from tests.models import tiny_llama, tiny_lora


def test_finds_one_pair_per_layer_and_adapter():
    model = tiny_lora()
    model.add_adapter("late", LoraConfig(r=2, target_modules=["q_proj"]))
    names = [pair.name for pair in lora_pairs(model)]
    assert len(names) == len(set(names)) == 8
    layer = "base_model.model.model.layers.0.self_attn.q_proj"
    assert names[:2] == [f"{layer} [default]", f"{layer} [late]"]


def test_the_matrices_are_views_of_the_live_parameters():
    for pair in lora_pairs(tiny_lora()):
        a, b = pair.parameters
        assert pair.a.data_ptr() == a.data_ptr()
        assert pair.b.data_ptr() == b.data_ptr()
        assert pair.a.shape[0] == pair.b.shape[1] == 4
        assert not pair.a.requires_grad


def test_names_are_free_of_wrappers():
    model = tiny_lora()
    plain = [pair.name for pair in lora_pairs(model)]
    wrapped = torch.compile(model, backend="aot_eager")
    assert [pair.name for pair in lora_pairs(wrapped)] == plain


def test_scaling_follows_the_layer():
    pair = next(iter(lora_pairs(tiny_lora())))
    assert pair.scaling == 2.0
    pair.layer.set_scale("default", 3)
    assert pair.scaling == 6.0


def test_what_is_not_measured_says_why():
    config = AdaLoraConfig(total_step=9, target_modules=["q_proj"])
    pairs = list(lora_pairs(get_peft_model(tiny_llama(), config)))
    assert {pair.reason for pair in pairs} == {"AdaLoRA scales each rank by itself"}
    assert all(pair.a is None for pair in pairs)
    model = tiny_lora()
    model.base_model.model.model.layers[0].self_attn.q_proj.lora_B.to("meta")
    reasons = [pair.reason for pair in lora_pairs(model)]
    assert reasons == ["the adapter's weights are offloaded", "", "", "", "", ""]


def test_experts_that_share_one_pair_are_named_but_not_measured():
    class Experts(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(3, 8, 6))

        def forward(self, x):
            return torch.einsum("bi,eio->beo", x, self.weight)

    net = torch.nn.ModuleDict({"experts": Experts()})
    config = LoraConfig(r=2, target_modules=[], target_parameters=["experts.weight"])
    (pair,) = lora_pairs(get_peft_model(net, config))
    assert pair.reason == "one pair holds several experts"


def test_a_plain_model_has_none():
    assert list(lora_pairs(tiny_llama())) == []
