"""What arrives of an adapter in the base weight, against a plain computation."""

import pytest
import torch

from ftlab.faults.tiny import adamw, base, batches, gpt2, llama, lora
from ftlab.probes.merge_loss import MergeLoss
from ftlab.records.step import Block
from tests.models import tiny_4bit
from tests.probes.recording import Recording


def merged(model, steps=3, merges=1, lr=1e-2):
    """Train, merge, and return error / product of each layer by path."""
    optimizer = adamw(model, lr=lr)
    with Recording(model, optimizer, probes=[MergeLoss()]) as recording:
        for step in range(steps):
            optimizer.zero_grad()
            model(**batches()[step]).loss.backward()
            optimizer.step()
        for _ in range(merges):
            model.merge_adapter()
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


def test_dora_is_left_out():
    assert merged(lora(use_dora=True)) == {}


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
