"""Weights of few bits: errors, code book, bytes, against plain computations."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from bitsandbytes.functional import dequantize_4bit
from transformers import AutoModelForCausalLM, BitsAndBytesConfig

import ftlab
from ftlab.faults.builders.tiny import llama, lora
from tests.laboratory.test_anatomy import noisy

SETTINGS = {
    "nf4": {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4"},
    "fp4": {"load_in_4bit": True, "bnb_4bit_quant_type": "fp4"},
    "nested": {
        "load_in_4bit": True,
        "bnb_4bit_quant_type": "nf4",
        "bnb_4bit_use_double_quant": True,
        "bnb_4bit_compute_dtype": torch.bfloat16,
    },
    "int8": {"load_in_8bit": True},
}


@pytest.fixture
def base(tmp_path: Path) -> tuple[Any, Path]:
    model = llama(hidden_size=128)
    model.model.layers[1].mlp.down_proj.weight.data[3, 7] = 2.0  # an outlier
    model.save_pretrained(tmp_path)
    return model, tmp_path


def loaded(folder: Path, how: str) -> Any:
    config = BitsAndBytesConfig(**SETTINGS[how])
    model = AutoModelForCausalLM.from_pretrained(folder, quantization_config=config)
    return noisy(lora(model, target_modules="all-linear"), 0.02)


def plain(module: Any) -> torch.Tensor:
    """Put one weight together as bitsandbytes does."""
    weight = module.weight
    if hasattr(weight, "quant_state"):
        whole: torch.Tensor = dequantize_4bit(weight.data, weight.quant_state)
        return whole.detach().double()
    scale = weight.SCB if weight.SCB is not None else module.state.SCB
    return weight.data.double() * scale.double()[:, None] / 127


@pytest.mark.parametrize("how", SETTINGS)
def test_errors_are_those_of_whole_matrices(base: tuple[Any, Path], how: str) -> None:
    original, folder = base
    model = loaded(folder, how)
    view = ftlab.adapters(model, original=folder).quantisation
    assert view is not None
    layers = {each.name: each for each in view.layers}
    assert len(layers) == 14
    for name, found in layers.items():
        module = model.get_submodule(f"base_model.model.{name}")
        exact = original.get_submodule(name).weight.detach().double()
        missing = exact - plain(module.base_layer)
        assert found.error == pytest.approx(float(missing.norm()), rel=1e-4)
        share = float(missing.norm() / exact.norm())
        assert found.relative == pytest.approx(share, rel=1e-4)
        update = module.get_delta_weight("default").detach().double()
        left = (missing - update).norm() ** 2 / missing.norm() ** 2
        assert found.compensated == pytest.approx(1 - float(left), abs=1e-3)
        blocks = missing.reshape(-1, found.block).norm(dim=1)
        worst = blocks / exact.reshape(-1, found.block).norm(dim=1)
        assert found.worst == pytest.approx(float(worst.max()), rel=1e-4)
        assert found.bytes_there == found.bytes_predicted


@pytest.mark.parametrize("how", ["nf4", "fp4", "nested"])
def test_the_code_book_is_used_as_counted_by_hand(
    base: tuple[Any, Path], how: str
) -> None:
    model = loaded(base[1], how)
    view = ftlab.adapters(model).quantisation
    assert view is not None
    found = view.layers[0]
    module = model.get_submodule(f"base_model.model.{found.name}").base_layer
    state = module.weight.quant_state
    scales = plain(module).reshape(-1, found.block).abs().amax(1, keepdim=True)
    scaled = plain(module).reshape(-1, found.block) / scales
    code = torch.tensor(found.code)
    nearest = (scaled.flatten()[:, None] - code[None]).abs().argmin(1)
    counted = torch.bincount(nearest, minlength=16).double() / nearest.numel()
    # fp4 has two zeros
    zeros = code == 0
    used = torch.tensor(found.used)
    assert torch.allclose(used[~zeros], counted[~zeros], atol=2e-3)
    assert float(used[zeros].sum()) == pytest.approx(
        float(counted[zeros].sum()), abs=2e-3
    )
    assert (found.kind, found.block) == (state.quant_type, state.blocksize)
    assert found.nested is (how == "nested")
    assert found.compute == ("bfloat16" if how == "nested" else "float32")
    assert np.all(np.diff(found.code) >= 0)


def test_an_outlier_is_named(base: tuple[Any, Path]) -> None:
    view = ftlab.adapters(loaded(base[1], "nf4"), original=base[0]).quantisation
    assert view is not None
    (far,) = [each for each in view.layers if each.outliers > 0]
    assert far.place == "layers.1.mlp.down"
    assert far.spread > 3
    assert "outlier blocks in 1 layer, most at layers.1.mlp.down" in repr(view)


def test_an_adapter_made_of_the_error_compensates(base: tuple[Any, Path]) -> None:
    original, folder = base
    model = loaded(folder, "nf4")
    name = "model.layers.0.self_attn.q_proj"
    module = model.get_submodule(f"base_model.model.{name}")
    missing = original.get_submodule(name).weight.detach().double()
    missing = missing - plain(module.base_layer)
    left, values, right = torch.linalg.svd(missing)
    rank = module.r["default"]
    scale = module.scaling["default"]
    module.lora_B["default"].weight.data = (left[:, :rank] * values[:rank]).float()
    module.lora_A["default"].weight.data = (right[:rank] / scale).float()
    view = ftlab.adapters(model, original=original).quantisation
    assert view is not None
    (found,) = [each for each in view.layers if each.name == name]
    share = float((values[:rank] ** 2).sum() / (values**2).sum())
    assert found.compensated == pytest.approx(share, rel=1e-3)


def test_without_the_original_what_was_lost_is_not_told(base: tuple[Any, Path]) -> None:
    view = ftlab.adapters(loaded(base[1], "nf4")).quantisation
    assert view is not None
    assert "not known without the original" in repr(view)
    assert np.isnan([each.relative for each in view.layers]).all()
    assert view.table().shape[0] == 14


def test_a_quantised_model_without_adapters_is_shown(base: tuple[Any, Path]) -> None:
    config = BitsAndBytesConfig(**SETTINGS["nf4"])
    model = AutoModelForCausalLM.from_pretrained(base[1], quantization_config=config)
    view = ftlab.adapters(model)
    assert not view.anatomy.layers
    assert repr(view).startswith("14 layers in nf4")
    assert len(view.figure().axes) == 2


def test_weights_in_floating_point_have_no_such_view() -> None:
    model = lora()
    assert ftlab.adapters(model).quantisation is None
    assert ftlab.adapters(copy.deepcopy(model)).quantisation is None
