"""Tensors that are shown by their facts, and stay what they are."""

import copy
import pickle

import pytest
import torch
from transformers import BatchEncoding

from ftlab.session.debugging.shown import shown, shown_tensor

IDS = torch.arange(8).reshape(2, 4)
BAD = torch.tensor([1.0, 2.0, float("inf"), float("nan")])


def test_a_tensor_is_shown_by_its_facts_and_computes_as_a_plain_one():
    tensor = shown_tensor(BAD)
    assert repr(tensor).startswith("float32[4], 1 to 2, 1 NaN, 1 Inf  █")
    assert "1 NaN, 1 Inf, 1 to 2" in tensor._repr_html_()
    assert torch.equal(tensor[:2], BAD[:2])
    assert tensor.isnan().sum() == 1
    for made in (tensor + 1, tensor[:], copy.deepcopy(tensor), tensor.clone()):
        assert type(made) is torch.Tensor
    assert type(pickle.loads(pickle.dumps(tensor))) is torch.Tensor


@pytest.mark.parametrize("kind", [dict, BatchEncoding])
def test_a_batch_is_shown_one_tensor_a_line(kind):
    batch = shown(kind({"ids": IDS, "x<y": BAD, "text": ["a", "b"]}))
    lines = repr(batch).splitlines()
    assert lines[0].startswith("ids: int64[2, 4], 0 to 7  █")
    assert lines[1].startswith("x<y: float32[4], 1 to 2, 1 NaN, 1 Inf")
    assert lines[2] == "text: list"
    assert "x&lt;y" in batch._repr_html_()
    assert isinstance(batch, kind)
    assert batch["ids"] is IDS
    assert {**batch}.keys() == {"ids", "x<y", "text"}
    for made in (copy.copy(batch), copy.deepcopy(batch)):
        assert set(made) == set(batch)
    assert type(pickle.loads(pickle.dumps(batch))) is kind


def test_inputs_are_shown_under_their_names():
    inputs = shown((BAD, IDS), ("self", "other"))
    assert [line.split(":")[0] for line in repr(inputs).splitlines()] == [
        "self",
        "other",
    ]
    first, second = inputs
    assert (first is BAD, second is IDS) == (True, True)
    assert repr(shown(())) == "()"
