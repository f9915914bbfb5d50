"""The computed masks are what the model does: to its weights, and to its logits."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from ftlab.probes.attention.block_calls import block_calls
from ftlab.probes.attention.blocks import stacks_of
from ftlab.probes.attention.layer_masks import masks_of
from ftlab.probes.attention.undisturbed import undisturbed
from tests.probes.attention import tiny

LENGTH = 11
CAUSAL = ("llama", "mistral", "gemma", "chunked", "gpt2", "gpt_neo", "bloom", "opt")
SIDED = ("t5", "bart")


def ids(rows=2, length=LENGTH):
    made = torch.Generator().manual_seed(3)
    return torch.randint(3, 60, (rows, length), generator=made)


def given_as(kind, sided=False):
    batch = {"input_ids": ids()}
    if kind in ("left", "right"):
        batch["attention_mask"] = torch.ones(2, LENGTH, dtype=torch.long)
        batch["attention_mask"][0, slice(0, 3) if kind == "left" else slice(7, 11)] = 0
    if kind.startswith("packed") and not sided:
        starts = [[0, 1, 2, 0, 1, 2, 3, 4, 0, 1, 2], [*range(6), *range(5)]]
        batch["position_ids"] = torch.tensor(starts)
    if kind == "packed ones":
        batch["attention_mask"] = torch.ones(2, LENGTH, dtype=torch.long)
    if kind == "packed, no cache" and not sided:
        batch["use_cache"] = False
    if sided:
        batch["decoder_input_ids"] = ids(length=5)
    return batch


def without_empty(seen, weights):
    """Leave out queries that see nothing: softmax spreads them over everything."""
    some = seen.any(-1)
    return seen[some], weights[some]


@pytest.mark.parametrize("family", [*CAUSAL, "bert", *SIDED])
@pytest.mark.parametrize(
    "kind", ["plain", "left", "right", "packed", "packed ones", "packed, no cache"]
)
def test_equals_the_weights_of_eager_attention(family, kind):
    torch.manual_seed(0)
    model = getattr(tiny, family)(attn_implementation="eager").eval()
    batch = given_as(kind, family in SIDED)
    if family == "bert":
        batch.pop("use_cache", None)
    masks = masks_of(model, lambda: model(**batch)).masks
    with torch.no_grad():
        out = model(**batch, output_attentions=True)
    of = {
        "decoder": out.get("attentions") or out.get("decoder_attentions"),
        "encoder": out.get("encoder_attentions"),
        "cross": out.get("cross_attentions"),
    }
    looked = 0
    for mask in masks:
        for layer in mask.kind.layers:
            weights = (of[mask.side][layer] > 0).any(1).numpy()
            seen, real = without_empty(tiny.seen_by(mask, 2), weights)
            np.testing.assert_array_equal(seen, real)
            looked += 1
    assert looked == sum(len(each or ()) for each in of.values())


@st.composite
def rows(draw):
    """A packed or padded row, as position ids and a 2-D mask or none."""
    lengths = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    positions = [at for length in lengths for at in range(length)]
    left, right = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    kind = draw(st.sampled_from(["none", "padded", "ones"]))
    batch = {"position_ids": torch.tensor([positions])}
    if kind == "padded":
        mask = [0] * left + [1] * len(positions) + [0] * right
        batch["attention_mask"] = torch.tensor([mask])
        batch["position_ids"] = torch.tensor([[0] * left + positions + [0] * right])
    elif kind == "ones":
        batch["attention_mask"] = torch.ones_like(batch["position_ids"])
    batch["input_ids"] = ids(1, batch["position_ids"].shape[1])
    batch["use_cache"] = draw(st.booleans())
    return batch


MODELS = {
    (name, how): getattr(tiny, name)(attn_implementation=how).eval()
    for name in ("llama", "mistral", "gemma", "chunked", "gpt2")
    for how in ("eager", "sdpa")
}


@pytest.mark.parametrize("which", MODELS, ids=" ".join)
@settings(max_examples=25, deadline=None)
@given(batch=rows())
def test_equals_the_mask_that_transformers_materialises(which, batch):
    model = MODELS[which]
    masks = masks_of(model, lambda: model(**batch)).masks
    with undisturbed(model):
        calls = block_calls(stacks_of(model), lambda: model(**batch))
    for mask in masks:
        for layer in mask.kind.layers:
            whole = calls[layer].arguments["attention_mask"]
            seen = tiny.seen_by(mask)
            if whole is None:
                real = np.tril(np.ones_like(seen))
            elif whole.dtype == torch.bool:
                real = whole[:, 0].numpy()
            else:
                real = (whole[:, 0] == 0).numpy()
            np.testing.assert_array_equal(seen, real)


@pytest.mark.parametrize("which", MODELS, ids=" ".join)
@settings(max_examples=15, deadline=None)
@given(batch=rows(), data=st.data())
def test_logits_move_where_the_mask_lets_a_token_through(which, batch, data):
    """Change one token: those queries move that reach it through the layers."""
    model = MODELS[which]
    masks = masks_of(model, lambda: model(**batch)).masks
    by_layer = {layer: mask for mask in masks for layer in mask.kind.layers}
    length = batch["input_ids"].shape[1]
    reach = np.eye(length, dtype=int)
    for layer in sorted(by_layer):
        seen = tiny.seen_by(by_layer[layer])[0].astype(int)
        reach = np.minimum((seen + np.eye(length, dtype=int)) @ reach, 1)
    key = data.draw(st.integers(0, length - 1))
    other = {**batch, "input_ids": batch["input_ids"].clone()}
    other["input_ids"][0, key] = 3 + (int(batch["input_ids"][0, key]) - 2) % 57
    with torch.no_grad():
        moved = (model(**batch).logits != model(**other).logits).any(-1)[0].numpy()
    real = tiny.seen_by(masks[0])[0].any(-1)
    for mask in masks:  # what sees nothing is spread over everything, and may move
        real &= tiny.seen_by(mask)[0].any(-1)
    if "attention_mask" in batch:
        real &= batch["attention_mask"][0].numpy() > 0
    if real.all() or real[key]:
        np.testing.assert_array_equal(moved[real], reach[real, key].astype(bool))


@pytest.mark.parametrize("family", [*CAUSAL, "bert", *SIDED])
def test_leaves_the_model_as_it_was(family):
    model = getattr(tiny, family)().train()
    batch = given_as("left", family in SIDED)
    modes = [module.training for module in model.modules()]
    state, implementation = torch.get_rng_state(), model.config._attn_implementation
    other = "eager" if family == "chunked" else "flash_attention_2"
    masks_of(model, lambda: model(**batch), other)
    assert torch.equal(torch.get_rng_state(), state)
    assert [module.training for module in model.modules()] == modes
    assert model.config._attn_implementation == implementation
    assert not any("forward" in vars(module) for module in model.modules())
    from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS as TABLE

    assert not TABLE._local_mapping
    assert model(**batch).logits.grad_fn is not None


def test_computes_no_block():
    model = tiny.llama()
    for layer in model.model.layers:
        layer.mlp.forward = None
        layer.self_attn.forward = None
    masks = masks_of(model, lambda: model(input_ids=ids()))
    assert masks.masks[0].kind.layers == (0, 1)


def test_errors_of_the_forward_pass_through():
    model = tiny.llama()
    with pytest.raises(IndexError):
        masks_of(model, lambda: model(input_ids=ids() + 60))
