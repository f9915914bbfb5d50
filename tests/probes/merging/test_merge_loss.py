"""What arrives of an adapter in the base weight, against a plain computation."""

import pytest
import torch

from ftlab.faults.builders.blocks import eight_bit
from ftlab.faults.builders.tiny import adamw, base, batches, gpt2, llama, lora
from ftlab.faults.builders.zoo import pictures, vit
from ftlab.probes.adapter.lora_pairs import pairs_of_layer
from ftlab.probes.merging.merge_loss import MergeLoss, _delta, rows_of
from ftlab.records.step import Block
from tests.models import tiny_4bit
from tests.probes.recording import Recording


def merged(model, steps=3, merges=1, lr=1e-2, made=None, back=True):
    """Train, merge, and return error / product of each layer by path."""
    optimizer, made = adamw(model, lr=lr), made or batches()
    with Recording(model, optimizer, probes=[MergeLoss()]) as recording:
        for step in range(steps):
            optimizer.zero_grad()
            model(**made[step]).loss.backward()
            optimizer.step()
        for _ in range(merges):
            model.merge_adapter()
            if back:
                model.unmerge_adapter()
    names = recording.names
    return {
        names[row].name: dict(zip(block.values, values, strict=True))
        for block in recording.records
        if isinstance(block, Block) and block.table == "merges"
        for row, *values in zip(
            block.ids.tolist(),
            *(column.tolist() for column in block.values.values()),
            strict=True,
        )
    }


@pytest.mark.parametrize("build", [llama, gpt2], ids=["rows", "columns"])
def test_all_of_it_arrives_in_float32(build):
    model = lora(build())
    found = merged(model)
    layers = [n for n, m in model.named_modules() if hasattr(m, "lora_A")]
    assert sorted(found) == sorted(layers)
    for values in found.values():
        assert values["delta_l2"] > 0
        assert values["arrived_l2"] == pytest.approx(values["delta_l2"], rel=1e-4)
        assert values["error_l2"] < 1e-5 * values["delta_l2"]


def test_an_embedding_is_measured_too():
    found = merged(lora(llama(), target_modules=["embed_tokens"]))
    (values,) = found.values()
    assert values["error_l2"] < 1e-5 * values["delta_l2"]


def test_the_product_is_that_of_some_rows():
    model = lora()
    values = merged(model)["base_model.model.model.layers.0.self_attn.v_proj"]
    layer = model.base_model.model.model.layers[0].self_attn.v_proj
    whole = layer.get_delta_weight("default")
    rows = whole[:: max(1, whole.shape[0] // 16)][:16]
    assert values["delta_l2"] == pytest.approx(float(rows.norm()), rel=1e-5)


def test_small_products_are_lost_in_bf16():
    small = merged(lora(base().to(torch.bfloat16)), lr=1e-5)
    large = merged(lora(base().to(torch.bfloat16)), lr=1e-2)
    for path, values in small.items():
        assert values["error_l2"] > 0.5 * values["delta_l2"]
        assert large[path]["error_l2"] < 0.05 * large[path]["delta_l2"]


def test_4bit_weights_are_expanded(tmp_path):
    found = merged(lora(tiny_4bit(tmp_path)), lr=1e-3)
    assert found
    assert all(each["error_l2"] > 0.1 * each["delta_l2"] for each in found.values())


@pytest.mark.parametrize("build", [llama, gpt2], ids=["rows", "columns"])
def test_dora_is_measured_as_rows_of_the_length_that_its_magnitude_says(build):
    # PEFT 0.17 cannot take DoRA out of transposed weights again.
    found = merged(lora(build(), use_dora=True), back=False)
    assert found
    for values in found.values():
        assert values["error_l2"] < 1e-5 * values["delta_l2"]


def test_what_dora_adds_is_that_of_a_whole_weight():
    model = lora(use_dora=True)
    layer = model.base_model.model.model.layers[0].self_attn.v_proj
    before = layer.base_layer.weight.detach().clone()
    values = merged(model)["base_model.model.model.layers.0.self_attn.v_proj"]
    whole = before + layer.get_delta_weight("default")
    long = layer.lora_magnitude_vector["default"].weight
    whole = long[:, None] * whole / whole.norm(dim=1, keepdim=True) - before
    rows = whole[:: max(1, whole.shape[0] // 16)][:16]
    assert values["delta_l2"] == pytest.approx(float(rows.norm()), rel=1e-4)


def test_a_magnitude_that_a_merge_leaves_out_is_an_error(monkeypatch):
    from peft.tuners.lora.variants import DoraLinearVariant

    def without(module, adapter, weight):
        weight.data = weight.data + module.get_delta_weight(adapter)

    monkeypatch.setattr(DoraLinearVariant, "merge_unsafe", staticmethod(without))
    monkeypatch.setattr(DoraLinearVariant, "unmerge", lambda *given: given[-1].data)
    found = merged(lora(use_dora=True), lr=1e-1)
    assert any(each["error_l2"] > 0.05 * each["delta_l2"] for each in found.values())


@pytest.mark.parametrize("dora", [False, True])
def test_the_kernel_of_a_convolution_is_measured_flat(dora):
    model = lora(vit(), target_modules=["projection"], use_dora=dora)
    (values,) = merged(model, made=pictures()).values()
    assert values["delta_l2"] > 0
    assert values["error_l2"] < 1e-5 * values["delta_l2"]


def test_8bit_weights_are_expanded_by_the_scale_of_their_rows():
    pytest.importorskip("bitsandbytes")
    model = lora(eight_bit(llama(), torch.float32))
    small = merged(model, lr=1e-5)
    large = merged(lora(eight_bit(llama(), torch.float32)), lr=1e-1)
    assert all(each["error_l2"] > 0.5 * each["delta_l2"] for each in small.values())
    assert all(each["error_l2"] < 0.05 * each["delta_l2"] for each in large.values())


def test_dora_beside_another_adapter_is_not_measured():
    model = lora(use_dora=True)
    model.add_adapter("second", model.peft_config["default"])
    model.base_model.set_adapter(["default", "second"])
    assert merged(model) == {}


def test_a_variant_with_a_merge_of_its_own_is_not_measured():
    model = lora()
    layer = model.base_model.model.model.layers[0].self_attn.v_proj
    layer.lora_variant["default"] = None
    pair = next(pairs_of_layer(layer, "v"))
    layer.merged_adapters.append("default")
    assert _delta(layer, pair.module, rows_of(layer)) is None


def test_it_changes_no_bit():
    one, other = lora(), lora()
    merged(one, merges=2)
    optimizer = adamw(other, lr=1e-2)
    for step in range(3):
        optimizer.zero_grad()
        other(**batches()[step]).loss.backward()
        optimizer.step()
    for _ in range(2):
        other.merge_adapter()
        other.unmerge_adapter()
    pairs = zip(one.parameters(), other.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)
