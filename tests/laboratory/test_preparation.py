"""Preparation for k-bit training and memory: against a plain backward and formulas."""

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, BitsAndBytesConfig

import ftlab
from ftlab.faults.builders.tiny import batches, gpt2, llama, lora, trainable
from ftlab.records.errors import BadValueError
from tests.laboratory.test_anatomy import noisy
from tests.laboratory.test_bottleneck import unchanged

NF4 = {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}
SETTINGS: dict[str, dict[str, Any]] = {
    "nf4": NF4,
    "nested": {
        **NF4,
        "bnb_4bit_use_double_quant": True,
        "bnb_4bit_compute_dtype": torch.bfloat16,
    },
    "int8": {"load_in_8bit": True},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    llama(hidden_size=128).save_pretrained(tmp_path)
    return tmp_path


def read(folder: Path, dtype: torch.dtype = torch.bfloat16, **settings: Any) -> Any:
    config = BitsAndBytesConfig(**(settings or NF4))
    return AutoModelForCausalLM.from_pretrained(
        folder, quantization_config=config, dtype=dtype
    )


def prepared(folder: Path, **settings: Any) -> Any:
    base = prepare_model_for_kbit_training(read(folder, **settings))
    return noisy(lora(base, target_modules="all-linear"), 0.02)


def said(model: Any, batch: Any = None) -> Any:
    view = ftlab.adapters(model, batches()[0] if batch is None else batch).quantisation
    assert view is not None
    assert view.preparation is not None
    return view


def plain_gradients(model: Any) -> dict[str, float]:
    """Return the norm of each layer's adapter's gradient after a plain backward."""
    model.train()
    model.zero_grad()
    loss = model(**batches()[0]).loss
    if loss.requires_grad:
        loss.backward()
    squares: dict[str, float] = {}
    for name, parameter in model.named_parameters():
        if ".lora_" in name and parameter.requires_grad:
            layer = name.partition(".lora_")[0].removeprefix("base_model.model.")
            grad = parameter.grad
            own = 0.0 if grad is None else float(grad.double().square().sum())
            squares[layer] = squares.get(layer, 0.0) + own
    return {name: value**0.5 for name, value in squares.items()}


@pytest.mark.parametrize("how", SETTINGS)
def test_gradients_are_those_of_a_plain_backward(folder: Path, how: str) -> None:
    model = prepared(folder, **SETTINGS[how])
    with unchanged(model):
        view = said(model)
    found = view.preparation
    expected = plain_gradients(model)
    assert list(found.gradients) == list(expected)
    for name, norm in expected.items():
        assert found.gradients[name] == pytest.approx(norm, rel=1e-4)
        assert norm > 0
    assert (found.faults, found.note) == ((), "")
    assert (found.norms, found.heads, found.stray) == (("float32",), ("float32",), ())
    assert found.checkpointing
    text = repr(view)
    assert "prepared for k-bit training: norms and head in float32" in text
    assert "the gradient reaches all 14 layers" in text
    assert f"double quantisation {'on' if how == 'nested' else 'off'}" in text
    table = view.table()
    assert list(table.gradients) == pytest.approx(list(expected.values()), rel=1e-4)


def test_without_preparation_norms_and_head_are_in_half_precision(folder: Path) -> None:
    model = lora(read(folder), target_modules="all-linear")
    view = said(model)
    assert view.preparation.faults == ("norms in bfloat16", "head in bfloat16")
    assert "not prepared for k-bit training: norms in bfloat16" in repr(view)


def test_checkpointing_that_keeps_the_gradient_from_the_adapters_is_told(
    folder: Path,
) -> None:
    model = prepared(folder)
    model.gradient_checkpointing_enable({"use_reentrant": True})
    model.disable_input_require_grads()
    embedding = model.get_input_embeddings()
    embedding._forward_hooks.clear()
    assert set(plain_gradients(model).values()) == {0.0}
    model.zero_grad()
    model.eval()  # it is the setting in training that counts
    with unchanged(model):
        found = said(model).preparation
    assert set(found.gradients.values()) == {0.0}
    assert found.faults == (
        "the gradient reaches 0 of 14 adapted layers, checkpointing on",
    )


def test_a_base_that_is_trained_too_is_told(folder: Path) -> None:
    model = prepared(folder)
    model.base_model.model.model.norm.weight.requires_grad_(True)
    found = said(model).preparation
    assert found.stray == ("model.norm.weight",)
    assert "1 of the base's own trained, model.norm.weight first" in found.faults
    assert said(model, {"input_ids": batches()[0]["input_ids"]}).preparation.stray


def test_layers_that_compute_in_another_dtype_are_told(folder: Path) -> None:
    settings = {**NF4, "bnb_4bit_compute_dtype": torch.float32}
    view = said(lora(read(folder, **settings), target_modules="all-linear"))
    given: list[torch.dtype] = []
    model = lora(read(folder, **settings))
    layer = model.base_model.model.model.layers[0].mlp.up_proj
    layer.register_forward_pre_hook(lambda _m, args: given.append(args[0].dtype))
    model(**batches()[0])
    assert given == [torch.bfloat16]
    assert layer.compute_dtype == torch.float32
    assert set(view.preparation.given.values()) == {"bfloat16"}
    assert set(view.preparation.computes.values()) == {"float32"}
    assert "14 layers in float32 given bfloat16" in repr(view)


def test_layers_left_in_full_are_named(folder: Path) -> None:
    view = said(prepared(folder, **NF4, llm_int8_skip_modules=["down_proj", "lm_head"]))
    left = ["embedding", "layers.0.mlp.down", "layers.1.mlp.down", "head"]
    assert list(view.preparation.left) == left
    assert f"not quantised: {', '.join(left)}" in repr(view)


@pytest.mark.parametrize("how", SETTINGS)
def test_memory_is_what_formulas_say_and_what_is_there(folder: Path, how: str) -> None:
    model = prepared(folder, **SETTINGS[how])
    parts = {each.what: each for each in said(model).preparation.memory}
    for each in parts.values():
        assert each.measured == each.predicted, each.what
    # by hand: 2 blocks of 4 matrices of attention and 3 of the MLP
    weights = sum(
        p.numel() for n, p in llama(hidden_size=128).named_parameters() if "proj" in n
    )
    scales = {"nf4": 4 * weights / 64, "nested": weights / 64}
    if how == "int8":
        rows = sum(
            p.shape[0]
            for n, p in llama(hidden_size=128).named_parameters()
            if "proj" in n
        )
        assert parts["int8 weights"].predicted == weights
        assert parts["scales"].predicted == 4 * rows
    else:
        assert parts["nf4 weights"].predicted == weights / 2
        assert parts["scales"].predicted == scales[how]
        books = 16 * 4 + (256 * 4 if how == "nested" else 0)
        assert parts["code books"].predicted == 14 * books
    assert parts["adapters"].predicted == sum(4 * p.numel() for p in trainable(model))
    twin = copy.deepcopy(model)
    weights = trainable(twin)
    optimizer = torch.optim.AdamW(weights)
    twin(**batches()[0]).loss.backward()
    optimizer.step()
    held = sum(t.nbytes for s in optimizer.state.values() for t in s.values())
    assert parts["AdamW states"].measured == held
    assert parts["gradients"].measured == sum(p.grad.nbytes for p in weights)


def test_what_was_not_measured_says_why(folder: Path) -> None:
    model = prepared(folder)
    view = said(model, {"input_ids": batches()[0]["input_ids"]})
    assert "the batch has no labels" in repr(view)
    assert not view.preparation.gradients
    without = ftlab.adapters(model).quantisation
    assert without is not None
    assert "pass a batch with labels" in repr(without)
    assert without.table().gradients.isna().all()


def test_a_model_is_left_as_it_was_where_its_forward_fails(folder: Path) -> None:
    model = prepared(folder)
    with unchanged(model), pytest.raises(BadValueError, match="IndexError"):
        ftlab.adapters(model, {"input_ids": batches()[0]["input_ids"] + 1000})


def test_a_backward_that_fails_is_told(folder: Path) -> None:
    model = prepared(folder)
    model.get_input_embeddings().register_full_backward_hook(fails)
    with unchanged(model):
        view = said(model)
    assert "no gradient was measured: ZeroDivisionError" in repr(view)


def fails(_module: Any, _given: Any, _returned: Any) -> None:
    raise ZeroDivisionError


def test_biases_keep_their_dtype(tmp_path: Path) -> None:
    gpt2().save_pretrained(tmp_path)
    settings = {**NF4, "bnb_4bit_compute_dtype": torch.bfloat16}
    model = lora(read(tmp_path, torch.float32, **settings), target_modules=["c_attn"])
    before = {name: p.dtype for name, p in model.named_parameters()}
    said(model)
    assert {name: p.dtype for name, p in model.named_parameters()} == before
    model(**batches()[0])  # bitsandbytes casts them in its first forward
    assert {name: p.dtype for name, p in model.named_parameters()} != before
