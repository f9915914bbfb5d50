"""The library's own models of many families are passed, and left as they were."""

import copy

import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import RwkvConfig, RwkvForCausalLM, Wav2Vec2Config, Wav2Vec2ForCTC

import ftlab
from ftlab.faults.builders.tiny import own
from ftlab.laboratory.activations.counterpart import Counterpart
from tests.laboratory.activations.families import FAMILIES, family, padded_batch
from tests.laboratory.activations.own_models import MODELS, LanguageModel
from tests.models import batches, tiny_4bit, update


def state_of(model):
    """Return all that a look might change."""
    return {
        "values": {n: v.clone() for n, v in model.state_dict().items()},
        "buffers": {n: v.clone() for n, v in model.named_buffers()},
        "modes": [each.training for each in model.modules()],
        "grads": [p.requires_grad for p in model.parameters()],
        "none": [p.grad is None for p in model.parameters()],
        "hooks": [
            (len(m._forward_hooks), len(m._forward_pre_hooks)) for m in model.modules()
        ],
        "names": [sorted(vars(m)) for m in model.modules()],
        "rng": torch.get_rng_state(),
    }


def same(one, other):
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    return torch.equal(one, other) if isinstance(one, torch.Tensor) else one == other


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_is_passed_and_left_as_it_was(name):
    model = family(name).train()
    before = state_of(model)
    found = ftlab.activations(model, padded_batch(), fresh=True)
    assert not found.faults, found
    assert not [e for e in found.summary.unchecked if "initialisation" not in e], found
    assert len(found.table()) > 2
    assert same(before, state_of(model))


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_with_lora_in_evaluation_is_passed(name):
    targets = ["in_proj", "x_proj"] if name == "Mamba" else "all-linear"
    config = LoraConfig(r=2, lora_alpha=4, target_modules=targets)
    model = get_peft_model(family(name).to(torch.bfloat16), config).eval()
    before = state_of(model)
    found = ftlab.activations(model, padded_batch(), fresh=True)
    assert not found.faults, found
    assert dict(found.summary.parts)["LoRA"] > 1
    assert same(before, state_of(model))


@pytest.mark.parametrize("name", FAMILIES)
def test_each_module_equals_what_the_library_makes_of_it(name, monkeypatch):
    def is_of_library(pair):
        kind = type(pair.mine)
        listed = isinstance(pair.mine, torch.nn.ModuleList)
        return kind.__module__.startswith("transformers") and not listed

    monkeypatch.setattr(Counterpart, "may_differ", is_of_library)
    found = ftlab.activations(family(name), padded_batch())
    assert not found.faults, found
    assert not found.summary.unchecked, found
    assert sum(count for _, count in found.summary.parts) >= 8


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("padding", ["left", "right"])
def test_either_attention_tells_the_same_entropy(attention, padding):
    batch = padded_batch()
    if padding == "left":
        batch = {name: value.flip(1) for name, value in batch.items()}
    model = family("Llama", attn_implementation=attention)
    for name, parameter in model.named_parameters():
        if "q_proj" in name or "k_proj" in name:
            parameter.data.mul_(10)
    entropy = ftlab.activations(model, batch).table()["entropy"]
    assert 0.3 < entropy[1] < 0.9
    weights = family_weights(model, batch)[0]
    mask = batch["attention_mask"].bool()
    one = -torch.special.xlogy(weights, weights).sum(-1)
    seen = (weights > 0).sum(-1)
    usable = (seen > 1) & mask[:, None, :]
    expected = float((one[usable] / seen[usable].log()).mean())
    assert entropy[1] == pytest.approx(expected, rel=1e-4)


def family_weights(model, batch):
    model = copy.deepcopy(model)
    model.set_attn_implementation("eager")
    return model(**batch, output_attentions=True).attentions


def test_range_and_units_are_those_of_a_plain_computation():
    model = family("OPT", activation_function="relu").eval()
    layer = model.model.decoder.layers[0]
    layer.fc1.bias.data[:16] = -100.0
    batch = padded_batch()
    kept = {}
    hook = layer.register_forward_hook(lambda _m, _a, out: kept.update(out=out))
    with torch.no_grad():
        model(**batch)
    hook.remove()
    out = kept["out"][0] if isinstance(kept["out"], tuple) else kept["out"]
    cells = out[batch["attention_mask"].bool()]
    row = ftlab.activations(model, batch).table().iloc[1]
    assert row["rms"] == pytest.approx(float(cells.square().mean().sqrt()), rel=1e-5)
    assert row["largest"] == pytest.approx(float(cells.abs().max()), rel=1e-6)
    assert (row["units"], row["dead"]) == (64, 0.25)


def test_a_saturated_activation_is_seen():
    model = family("Bert", hidden_act="tanh").eval()
    model.bert.encoder.layer[0].intermediate.dense.bias.data[:32] = 50.0
    table = ftlab.activations(model, padded_batch()).table()
    assert table["saturated"].tolist()[1:] == [0.5, 0.0]


def test_a_trained_model_is_passed():
    model = family("Llama")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(30):
        update(model(**padded_batch()).loss, optimizer)
    found = ftlab.activations(model, padded_batch())
    assert not found.faults, found
    strict = ftlab.activations(model, padded_batch(), fresh=True)
    assert any(each.component == "initialisation" for each in strict.faults)


def test_a_model_that_accelerate_has_prepared_is_passed():
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState

    AcceleratorState._reset_state(reset_partial_state=True)
    try:
        model = Accelerator(mixed_precision="bf16", cpu=True).prepare(family("Llama"))
        assert "forward" in vars(model)
        found = ftlab.activations(model, padded_batch())
        assert not found.faults, found
    finally:
        AcceleratorState._reset_state(reset_partial_state=True)


def test_a_model_of_ones_own_is_passed():
    batch = next(batches(1))
    found = ftlab.activations(own(), batch)
    assert not found.faults, found
    assert found.table()["entropy"].notna().any()


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_language_models_as_people_write_them_are_passed(name, dtype):
    model = LanguageModel(**MODELS[name]).to(dtype)
    found = ftlab.activations(model, padded_batch(), fresh=True)
    assert found.ok, found
    assert not found.summary.unchecked, found


def wav2vec2():
    """Return one whose projection is drawn by its parent, from 512 to 32."""
    return Wav2Vec2ForCTC(
        Wav2Vec2Config(
            vocab_size=20,
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=1,
            num_attention_heads=4,
            conv_dim=(8, 512),
            conv_stride=(4, 4),
            conv_kernel=(8, 4),
            num_conv_pos_embeddings=8,
            num_conv_pos_embedding_groups=2,
        )
    )


def rwkv():
    """Return one whose parameters begin otherwise in each layer."""
    sizes = {"hidden_size": 32, "attention_hidden_size": 32, "intermediate_size": 64}
    return RwkvForCausalLM(RwkvConfig(vocab_size=99, num_hidden_layers=3, **sizes))


def torchs():
    """Return torch's attention, which draws what its linear layers would draw."""
    layer = torch.nn.TransformerEncoderLayer(64, 4, 64, batch_first=True)
    return torch.nn.TransformerEncoder(layer, 2)


DRAWN = {
    "Wav2Vec2": (wav2vec2, {"input_values": torch.ones(1, 400)}),
    "RWKV": (rwkv, {"input_ids": torch.ones(1, 8, dtype=torch.long)}),
    "torch": (torchs, {"src": torch.ones(1, 8, 64)}),
}


@pytest.mark.parametrize("name", DRAWN)
def test_what_parents_and_layers_draw_is_known_or_not_told(name):
    torch.manual_seed(0)
    make, given = DRAWN[name]
    found = ftlab.activations(make(), given, fresh=True)
    assert not [e for e in found.faults if e.component == "initialisation"], found


def test_layers_of_four_bits_are_passed(tmp_path):
    found = ftlab.activations(tiny_4bit(tmp_path), next(batches(1)))
    assert not found.faults, found
    assert any("in few bits" in each for each in found.summary.unchecked)


def test_many_blocks_stay_readable():
    model = family("Llama", num_hidden_layers=80)
    view = ftlab.activations(model, padded_batch())
    assert view.ok
    assert len(view.table()) == 81
    assert len(repr(view).splitlines()) < 12
    figure = view.figure()
    assert max(len(axis.get_xticklabels()) for axis in figure.axes) < 15


def test_a_replaced_method_of_the_library_is_found(monkeypatch):
    from transformers.models.llama import modeling_llama as library

    def forward(self, x):
        return self.down_proj(self.gate_proj(x) * torch.sigmoid(self.up_proj(x)))

    monkeypatch.setattr(library.LlamaMLP, "forward", forward)
    (fault,) = ftlab.activations(family("Llama"), padded_batch()).faults
    assert "the activation of up times gate (sigmoid)" in fault.said
    assert len(fault.places) == 2


def test_a_replaced_function_of_the_library_is_found(monkeypatch):
    from transformers.models.llama import modeling_llama as library

    def without(q, k, cos, sin, unsqueeze_dim=1):
        return q, k

    monkeypatch.setattr(library, "apply_rotary_pos_emb", without)
    (fault,) = ftlab.activations(family("Llama"), padded_batch()).faults
    assert "without rotary positions" in fault.said


def test_a_forward_that_writes_to_weights_is_undone():
    class Averaged(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.student, self.teacher = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

        def forward(self, x):
            with torch.no_grad():
                self.teacher.weight.lerp_(self.student.weight, 0.1)
            return self.student(x) - self.teacher(x)

    model = Averaged()
    before = model.teacher.weight.clone()
    ftlab.activations(model, torch.ones(2, 4))
    assert torch.equal(model.teacher.weight, before)
    assert ftlab.activations(torch.nn.GELU(), torch.ones(2, 4)).ok
