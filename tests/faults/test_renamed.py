"""Rules find by class and place in the graph, not by the gallery's names and sizes."""

import pytest
import torch

from ftlab.faults.fault import Case
from ftlab.faults.loops import plain_step
from ftlab.faults.tiny import adamw, batches, llama, trainable
from ftlab.session.score import judge


def small_llama():
    return llama(hidden_size=32, num_hidden_layers=3, num_attention_heads=2)


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    config = GPT2Config(vocab_size=128, n_embd=48, n_layer=4, n_head=4, n_positions=64)
    return GPT2LMHeadModel(config)


def own():
    """A model of one's own, whose modules are called like nothing in transformers."""
    from types import SimpleNamespace

    from torch import nn

    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.words = nn.Embedding(128, 24)
            self.tower = nn.ModuleList(
                nn.ModuleDict({"squeeze": nn.Linear(24, 12), "grow": nn.Linear(12, 24)})
                for _ in range(5)
            )
            self.verdict = nn.Linear(24, 128)

        def forward(self, input_ids, labels, **_):
            hidden = self.words(input_ids)
            for floor in self.tower:
                inner = nn.functional.gelu(floor["squeeze"](hidden))
                hidden = hidden + floor["grow"](inner)
            logits = self.verdict(hidden)[:, :-1].reshape(-1, 128)
            loss = nn.functional.cross_entropy(logits, labels[:, 1:].reshape(-1))
            return SimpleNamespace(loss=loss, logits=logits)

    return Own()


BASES = {
    "llama": (small_llama, ["o_proj", "gate_proj"]),
    "gpt2": (gpt2, ["c_attn", "c_fc"]),
    "own": (own, ["squeeze", "grow"]),
}


def adapted(base, adapter, r):
    from peft import LoraConfig, get_peft_model

    build, targets = BASES[base]
    torch.manual_seed(1)
    config = LoraConfig(r=r, lora_alpha=r, target_modules=targets)
    return get_peft_model(build(), config, adapter_name=adapter)


def parts(model, role):
    return {n: p for n, p in model.named_parameters() if f"{role}." in n}


def freeze_b(model):
    for parameter in parts(model, "lora_B").values():
        parameter.requires_grad_(False)
    return adamw(model)


def zero_both(model):
    with torch.no_grad():
        for parameter in parts(model, "lora_A").values():
            parameter.zero_()
    return adamw(model)


def decay(model):
    return adamw(model, weight_decay=50.0)


def forget_half(model):
    return torch.optim.AdamW(trainable(model)[::2], lr=1e-3)


def no_fault(model):
    return adamw(model, lr=5e-3)


FAULTS = {
    "ADP001": (freeze_b, "lora_B"),
    "ADP001 both": (zero_both, "lora_"),
    "ADP002": (decay, "lora_A"),
    "OPT002": (forget_half, "lora_B"),
    "": (no_fault, ""),
}


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize(("adapter", "r"), [("mine", 2), ("q_proj", 6)])
@pytest.mark.parametrize("fault", FAULTS)
def test_names_adapters_and_sizes_do_not_matter(fault, base, adapter, r):
    model = adapted(base, adapter, r)
    inject, role = FAULTS[fault]
    optimizer = inject(model)
    case = Case(model, optimizer, batches(), plain_step(model, optimizer))
    report = judge(case, 50)
    assert {each.code for each in report.findings} == set(fault.split()[:1])
    for each in report.findings:
        assert f"{role}" in each.place.name
        assert f".{adapter}." in each.place.name
