"""X-LoRA: gates, effects and states, against the weights that PEFT keeps."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from peft import LoraConfig, XLoraConfig, get_peft_model
from peft.tuners.xlora.layer import XLoraLayer

import ftlab
from ftlab.faults.builders.tiny import batches, llama
from tests.laboratory.test_bottleneck import trained, unchanged


def xlora(folder: Path, **settings: Any) -> Any:
    """Return a trained mixture of two LoRAs; PEFT wants them called 0 and 1."""
    for name in ("0", "1"):
        config = LoraConfig(target_modules=["q_proj", "v_proj"], r=4)
        one = get_peft_model(llama(), config)
        torch.manual_seed(int(name))
        for path, parameter in one.named_parameters():
            if "lora_" in path:
                parameter.data.normal_(0, 0.3)
        one.save_pretrained(folder / name)
    base = llama()
    base.config.use_cache = False
    config = XLoraConfig(
        task_type="CAUSAL_LM",
        hidden_size=base.config.hidden_size,
        adapters={name: str(folder / name) for name in ("0", "1")},
        **settings,
    )
    return trained(get_peft_model(base, config), 6)


def kept(model: Any, batch: Any, given: dict[str, torch.Tensor]) -> torch.Tensor:
    """Return the weights of a forward; ``given`` is filled with the layers' inputs."""
    layers = {n: m for n, m in model.named_modules() if hasattr(m, "lora_A")}
    handles = [
        module.register_forward_pre_hook(
            lambda _m, args, name=name: given.__setitem__(name, args[0])
        )
        for name, module in layers.items()
    ]
    heard: list[torch.Tensor] = []
    classifier = model.base_model.internal_xlora_classifier
    hook = classifier.register_forward_hook(lambda _m, _a, out: heard.append(out))
    model.eval()
    with torch.no_grad():
        model(**batch)
    for handle in (*handles, hook):
        handle.remove()
    return heard[0]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"layerwise_scalings": True, "xlora_depth": 2, "xlora_size": 16},
        {"top_k_lora": 1},
        {"enable_softmax": False, "scaling_pass_value": 0.3},
    ],
)
def test_gates_and_effects_are_those_of_a_second_computation(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    model, batch = xlora(tmp_path, **settings), batches()[0]
    with unchanged(model):
        found = ftlab.adapters(model, batch).anatomy
    given: dict[str, torch.Tensor] = {}
    weights = kept(model, batch, given)
    if "top_k_lora" in settings:
        weights = weights * (weights == weights.amax(-1, keepdim=True))
    real = batch["attention_mask"] != 0
    layers = {each.name: each for each in found.layers if each.adapter == "0"}
    assert len(given) == len(found.gates) == len(layers) == 4
    for number, ((path, x), gates) in enumerate(
        zip(given.items(), found.gates, strict=True)
    ):
        own = weights[:, :, number]
        assert gates.name == path.removeprefix("base_model.lora_model.model.")
        assert (gates.kind, gates.adapters) == ("X-LoRA", ("0", "1"))
        assert gates.weights[real.numpy()] == pytest.approx(own[real].numpy(), abs=1e-6)
        assert np.isnan(gates.weights[~real.numpy()]).all()
        module = model.get_submodule(path)
        with torch.no_grad():
            plain = module.base_layer(x)
            added = sum(
                module.lora_B[n](module.lora_A[n](x * own[..., [int(n)]]))
                * module.scaling[n]
                for n in ("0", "1")
            )
        effect = float(added[real].double().norm() / plain[real].double().norm())
        assert layers[gates.name].effect == pytest.approx(effect, rel=1e-4)


def test_what_is_trained_is_what_weighs_them(tmp_path: Path) -> None:
    model = xlora(tmp_path)
    layers = ftlab.adapters(model).anatomy.layers
    own = model.base_model.internal_xlora_classifier
    (gates,) = [each for each in layers if each.method == "XLORA"]
    assert (gates.name, gates.state) == ("internal_xlora_classifier", "active")
    squares = sum(float(p.detach().double().square().sum()) for p in own.parameters())
    assert gates.norm == pytest.approx(squares**0.5, rel=1e-5)
    assert gates.trainable == sum(p.numel() for p in own.parameters())
    # before PEFT 0.21 each forward unfreezes the LoRAs
    loras = [p for n, p in model.named_parameters() if ".lora_" in n]
    expected = sum(p.numel() for p in loras if p.requires_grad)
    assert sum(e.trainable for e in layers if e is not gates) == expected
    assert {(e.adapter, e.state) for e in layers if e is not gates} == {
        ("0", "active"),
        ("1", "active"),
    }


def test_what_is_switched_off_is_disabled(tmp_path: Path) -> None:
    model = xlora(tmp_path)
    with model.disable_adapter():
        layers = ftlab.adapters(model).anatomy.layers
    states = {each.state for each in layers if each.method == "LORA"}
    # before PEFT 0.21 it ran on
    runs = not hasattr(XLoraLayer, "adapters_disabled")
    assert states == ({"active"} if runs else {"disabled"})


def test_layers_that_listen_to_one_are_named_together(tmp_path: Path) -> None:
    model = xlora(tmp_path)
    last = model.base_model.internal_xlora_classifier.layers[-1]
    last.weight.data.zero_()
    last.bias.data = torch.tensor([0.0, 4.0]).clamp(min=1).log()
    view = ftlab.adapters(model, batches()[0])
    assert "X-LoRA: layers 0-1 listen to `1` (80%)" in repr(view)
    table = view.gates.table()
    assert len(table) == 4 * len(batches()[0]["input_ids"]) * 2
    assert np.allclose(table[table.adapter == "1"].weight, 0.8, atol=1e-6)
    last.bias.data.zero_()
    same = ftlab.adapters(model, batches()[0]).gates
    assert repr(same) == "X-LoRA: all layers weigh their adapters alike (50% each)"


def test_a_measurement_unfreezes_nothing(tmp_path: Path) -> None:
    model = xlora(tmp_path)
    for name, parameter in model.named_parameters():
        parameter.requires_grad = "classifier" in name
    with unchanged(model):
        ftlab.adapters(model, batches()[0])
    trained = [name for name, p in model.named_parameters() if p.requires_grad]
    assert trained
    assert all("classifier" in name for name in trained)
