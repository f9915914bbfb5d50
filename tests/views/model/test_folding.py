"""Blocks that are alike are one line, and those that differ stand out."""

import pytest
import torch

import ftlab
from ftlab.faults.builders.tiny import llama, lora


def lines(model):
    view = ftlab.model(model)
    return {line.label: line for kind in view.kinds for line in kind.lines}


def many(layers=10, **settings):
    return llama(num_hidden_layers=layers, **settings)


def test_equal_layers_are_one_line():
    found = lines(many())
    assert found["layers.0…9"].names == tuple(f"layers.{n}" for n in range(10))
    assert not any(line.odd for line in found.values())


def unfrozen(model):
    for parameter in model.parameters():
        parameter.requires_grad = False
    model.model.layers[4].mlp.up_proj.weight.requires_grad = True


def hooked(model):
    model.model.layers[4].mlp.register_forward_hook(print)


ODD = {
    "dtype": (
        lambda m: m.model.layers[4].mlp.up_proj.to(torch.bfloat16),
        "mlp.up_proj: bfloat16, the others float32",
    ),
    "device": (
        lambda m: m.model.layers[4].self_attn.o_proj.to("meta"),
        "self_attn.o_proj: meta, the others cpu",
    ),
    "frozen": (unfrozen, "mlp.up_proj: learns"),
    "hook": (hooked, "mlp: forward hook: print (builtins), the others no hook"),
    "checkpointing": (
        lambda m: [
            setattr(each, "gradient_checkpointing", number != 4)
            for number, each in enumerate(m.model.layers)
        ],
        "no checkpointing, the others computed again in backward",
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_a_layer_that_differs_says_in_what(name):
    change, said = ODD[name]
    model = many()
    change(model)
    found = lines(model)
    assert found["layers.0…3, 5…9"].odd == ""
    assert found["layers.4"].odd == said


def test_a_layer_without_its_adapter_stands_out():
    model = lora(many())
    attention = model.base_model.model.model.layers[4].self_attn
    attention.q_proj = attention.q_proj.base_layer
    said = lines(model)["layers.4"].odd
    assert said.startswith("self_attn.q_proj: no adapter, the others default: active")


def test_each_difference_is_told_once():
    model = many()
    model.model.layers[4].mlp.up_proj.to(torch.bfloat16)
    said = [line for line in ftlab.model(model).said() if "differs" in line]
    assert said == ["! layers.4 differs: mlp.up_proj: bfloat16, the others float32"]


def test_two_halves_are_two_lines_and_neither_is_odd():
    model = many()
    for layer in model.model.layers[:5]:
        layer.to(torch.bfloat16)
    found = lines(model)
    assert found["layers.0…4"].odd == found["layers.5…9"].odd == ""


def test_each_module_is_in_one_line():
    view = ftlab.model(lora(many()))

    def paths(kind, before):
        for line in view.kinds[kind].lines:
            for name in line.names:
                inside = f"{before}.{name}" if before else name
                yield inside
                yield from paths(line.kind, inside)

    found = list(paths(len(view.kinds) - 1, ""))
    listed = {"ModuleList", "ModuleDict", "ParameterDict"}
    rows = [each for each in view.anatomy.modules[1:] if each.kind not in listed]
    assert sorted(found) == sorted(each.path for each in rows)
