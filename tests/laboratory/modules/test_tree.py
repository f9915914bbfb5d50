"""The tree says of each module what is there, by a second and dumber count."""

import copy

import pytest
import torch
from torch import nn

import ftlab
from ftlab.faults.builders.tiny import adamw, batches, llama, lora, lora_config
from tests.laboratory.modules.wrapped import Named
from tests.models import tiny_4bit


def row(model, path):
    return next(e for e in ftlab.model(model).anatomy.modules if e.path == path)


Q = "base_model.model.model.layers.0.self_attn.q_proj"


@pytest.mark.parametrize("make", [llama, lora, lambda: llama(tie_word_embeddings=True)])
def test_counts_are_those_of_torch(make):
    model = make()
    table = ftlab.model(model).table().set_index("module")
    assert list(table.index) == [name for name, _ in model.named_modules()]
    for name, module in model.named_modules():
        parameters = list(module.parameters())
        assert table.parameters[name] == sum(p.numel() for p in parameters)
        learning = [p for p in parameters if p.requires_grad]
        assert table.trainable[name] == sum(p.numel() for p in learning)
        buffers = sum(b.nbytes for b in module.buffers())
        assert table.bytes[name] == sum(p.nbytes for p in parameters) + buffers


def test_dtypes_and_devices_are_each_tensors_own():
    model = llama()
    model.lm_head.to(torch.float16)
    model.model.norm.to("meta")
    assert row(model, "lm_head").dtypes == ("float16",)
    assert row(model, "model.norm").devices == ("meta",)
    assert row(model, "model.embed_tokens").devices == ("cpu",)


def test_ties_name_each_other():
    (tie,) = row(llama(tie_word_embeddings=True), "lm_head").ties
    assert tie == "weight = model.embed_tokens.weight"
    assert row(llama(), "lm_head").ties == ()


def test_a_module_that_stands_twice_is_described_once():
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    model.append(model[0])
    view = ftlab.model(model)
    assert [each.same_as for each in view.anatomy.modules] == ["", "", "", "0"]
    assert view.anatomy.modules[0].parameters == 12


def test_adapters_tell_their_state():
    model = lora()
    assert row(model, Q).kind == "lora.Linear"
    assert row(model, Q).adapters == ("default: active, r 8, x 2",)
    model.add_adapter("other", copy.deepcopy(model.peft_config["default"]))
    assert "other: inactive, r 8, x 2" in row(model, Q).adapters
    model.base_model.disable_adapter_layers()
    assert "default: disabled, r 8, x 2" in row(model, Q).adapters
    model.base_model.enable_adapter_layers()
    model.merge_adapter()
    assert "default: merged, r 8, x 2" in row(model, Q).adapters
    model = lora(modules_to_save=["lm_head"])
    said = row(model, "base_model.model.lm_head").adapters
    assert said == ("default: active, saved whole",)


def test_hooks_of_others_are_told_with_their_place():
    model = llama()

    def spy(*_):
        return None

    layer = model.model.layers[0]
    layer.register_forward_hook(spy)
    layer.register_full_backward_hook(spy)
    layer.input_layernorm.weight.register_hook(spy)
    kinds = [each.partition(":")[0] for each in row(model, "model.layers.0").hooks]
    assert kinds == ["forward hook", "backward hook"]
    (hook,) = row(model, "model.layers.0.input_layernorm").hooks
    assert hook.startswith("gradient hook of weight: spy (test_tree.py:")
    model.lm_head.forward = spy
    (hook,) = row(model, "lm_head").hooks
    assert hook.startswith("in place of forward: spy")


def test_hooks_of_a_watch_are_left_out(tmp_path):
    model = lora()
    optimizer = adamw(model)
    with ftlab.watch(model, optimizer, run_dir=tmp_path / "run"):
        for batch in batches(2):
            model(**batch).loss.backward()
            optimizer.step()
            assert not any(e.hooks for e in ftlab.model(model).anatomy.modules)


def test_checkpointing_is_told_where_a_layer_looks_at_it():
    model = llama()
    assert row(model, "model.layers.0").checkpointed == ""
    model.activation_checkpointing_enable()
    assert row(model, "model.layers.0").checkpointed == "computed again in backward"
    assert row(model, "model").checkpointed == ""
    model.activation_checkpointing_enable({"use_reentrant": True})
    assert row(model, "model.layers.1").checkpointed.endswith("reentrant")


class Packed(nn.Module):
    """What a library keeps of a linear layer."""

    def __init__(self, **buffers):
        super().__init__()
        self.in_features, self.out_features = 64, 32
        for name, buffer in buffers.items():
            self.register_buffer(name, buffer)


class WQLinear(Packed):
    """AWQ's name."""


def ints(*shape):
    return torch.zeros(shape, dtype=torch.int32)


@pytest.mark.parametrize(
    ("module", "said"),
    [
        (Packed(qweight=ints(8, 32), g_idx=ints(64)), "GPTQ, 4-bit"),
        (Packed(qweight=ints(4, 32), g_idx=ints(64)), "GPTQ, 2-bit"),
        (WQLinear(qweight=ints(64, 4)), "AWQ, 4-bit"),
        (Packed(W_q=ints(8, 32)), "HQQ, 4-bit"),
        (Packed(weight=torch.zeros(4, 4).to(torch.float8_e4m3fn)), "float8_e4m3fn"),
        (nn.Linear(4, 4), ""),
    ],
)
def test_few_bits_are_told_by_what_is_there(module, said):
    assert row(nn.Sequential(module), "0").quantised == said


def test_packed_weights_count_as_weights():
    model = nn.Sequential(Packed(qweight=ints(8, 32), g_idx=ints(64)))
    assert ftlab.model(model).anatomy.modules[0].parameters == 64 * 32


def test_four_bits_of_bitsandbytes(tmp_path):
    model = tiny_4bit(tmp_path)
    layer = row(model, "model.layers.0.self_attn.q_proj")
    assert layer.quantised == "4-bit nf4, blocks of 64, computes in bfloat16"
    assert layer.own == 128 * 128
    weight = model.model.layers[0].self_attn.q_proj.weight
    scales = weight.quant_state.absmax.nbytes + weight.quant_state.code.nbytes
    assert layer.bytes == weight.nbytes + scales


def wrapping(model):
    return [each for each in ftlab.model(model).anatomy.modules if each.wraps]


def test_wrappers_are_told_from_outside_to_inside():
    inner = lora()
    found = wrapping(Named(torch.compile(Named(inner))))
    assert [each.kind for each in found] == [
        "Named",
        "OptimizedModule",
        "Named",
        "PeftModelForCausalLM",
    ]
    assert found[0].wraps.endswith(
        "holds the model as .backbone._orig_mod.backbone.base_model.model"
    )
    assert not wrapping(llama())
    inner.base_model.model.model.layers[0].compile()
    (part,) = wrapping(inner)[1:]
    assert part.path.endswith("layers.0")


def test_a_look_changes_nothing():
    model = nn.Sequential(llama(), nn.BatchNorm1d(4))
    model[0].model.layers[0].eval()
    (batch,) = batches(1)
    model[0](**batch).loss.backward()
    model[1](torch.randn(3, 4))

    def state():
        return (
            {n: t.clone() for n, t in model.state_dict().items()},
            {
                n: p.grad.clone()
                for n, p in model.named_parameters()
                if p.grad is not None
            },
            [(m.training, len(m._forward_hooks)) for m in model.modules()],
            [p.requires_grad for p in model.parameters()],
            torch.get_rng_state(),
            [p._version for p in model.parameters()],
        )

    before = state()
    view = ftlab.model(model)
    widget = view.widget()
    for each in view.anatomy.modules:
        widget._hear(None, {"name": "1", "path": each.path}, [])
        assert widget.answer["error"] == ""
    view.figure(), view.table(), view._repr_html_(), repr(view)
    torch.testing.assert_close(state(), before, rtol=0, atol=0)


def test_a_model_is_not_kept_alive():
    model = lora()
    view = ftlab.model(model)
    del model
    import gc

    gc.collect()
    widget = view.widget()
    widget._hear(None, {"name": "1", "path": "base_model"}, [])
    assert "has been deleted" in widget.answer["error"]


def test_peft_on_two_levels_and_other_methods_are_read():
    from peft import IA3Config, get_peft_model

    base = llama()
    model = get_peft_model(
        base,
        IA3Config(
            target_modules=["k_proj", "down_proj"], feedforward_modules=["down_proj"]
        ),
    )
    assert row(model, "base_model.model.model.layers.0.mlp.down_proj").adapters
    assert lora_config(base) is not None
