"""An adapter cut to smaller ranks: losses as of whole matrices, nothing left."""

import copy
from typing import Any

import pytest
import torch

import ftlab
from ftlab.faults.builders.tiny import batches, llama, lora
from ftlab.records.errors import BadValueError
from tests.laboratory.test_anatomy import noisy


def cut_by_hand(model: Any, rank: int) -> float:
    """Put truncated updates into the weights of a copy, and return its loss."""
    twin = copy.deepcopy(model)
    for module in twin.modules():
        if hasattr(module, "lora_A"):
            update = module.get_delta_weight("default").detach().double()
            left, values, right = torch.linalg.svd(update, full_matrices=False)
            kept = (left[:, :rank] * values[:rank]) @ right[:rank]
            module.base_layer.weight.data += kept.float()
    plain = twin.unload().eval()
    with torch.no_grad():
        return float(plain(**batches()[0]).loss)


def test_losses_are_those_of_updates_cut_as_whole_matrices() -> None:
    model = noisy(lora(), 0.3)
    view = ftlab.adapters(model, batches()[0], ranks=(0, 2, 5)).ranks
    assert view is not None
    found = {each.rank: each for each in view.ranks.ranks}
    assert list(found) == [8, 5, 2, 0]
    for rank, each in found.items():
        assert each.loss == pytest.approx(cut_by_hand(model, rank), rel=1e-5)
        assert each.seconds > 0
    assert found[8].kept == pytest.approx(1)
    assert found[0].kept == 0


def test_the_smallest_rank_that_keeps_the_loss_is_named() -> None:
    model = noisy(lora(), 0.3)
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            parameter.data[:, 2:] = 0
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
    batch = batches()[0]
    for _ in range(4):
        model(**batch).loss.backward()
        for name, parameter in model.named_parameters():
            if "lora_B" in name and parameter.grad is not None:
                parameter.grad[:, 2:] = 0
        optimizer.step()
        optimizer.zero_grad()
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            parameter.data[:, 2:] = 0
    view = ftlab.adapters(model, batch, ranks=(0, 1, 2, 4)).ranks
    assert view is not None
    whole = view.ranks.ranks[0]
    assert [e.loss for e in view.ranks.ranks[:3]] == pytest.approx([whole.loss] * 3)


def test_nothing_is_left_behind_also_if_it_fails() -> None:
    model = noisy(lora())
    held = {name: (p, p.data_ptr()) for name, p in model.named_parameters()}
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    ftlab.adapters(model, batches()[0], ranks=[1])
    batch = {k: v for k, v in batches()[0].items() if k != "labels"}
    with pytest.raises(BadValueError, match="no labels"):
        ftlab.adapters(model, batch, ranks=[1])
    for name, parameter in model.named_parameters():
        assert held[name] == (parameter, parameter.data_ptr())
        assert torch.equal(parameter, before[name])
    assert model.training


@pytest.mark.parametrize(
    ("ranks", "words"), [([-1], "ranks has -1"), ([2.5], "ranks has 2.5")]
)
def test_what_is_no_rank_is_refused(ranks: Any, words: str) -> None:
    with pytest.raises(BadValueError, match=words):
        ftlab.adapters(lora(), batches()[0], ranks=ranks)


def test_ranks_need_a_batch_and_a_lora_in_use() -> None:
    with pytest.raises(BadValueError, match="needs a batch"):
        ftlab.adapters(lora(), ranks=[1])
    model = lora(llama())
    with model.disable_adapter(), pytest.raises(BadValueError, match="no LoRA pair"):
        ftlab.adapters(model, batches()[0], ranks=[1])
