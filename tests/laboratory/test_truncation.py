"""An adapter cut to smaller ranks: losses as of whole matrices, nothing left."""

import copy
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model

import ftlab
from ftlab.faults.builders.tiny import batches, fused_experts, llama, lora, trainable
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
    optimizer = torch.optim.AdamW(trainable(model))
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


def in_directions(rank: int) -> Any:
    """Return a trained adapter of so many directions in its first layer.

    In the last one all of its directions are of one size.
    """
    model = noisy(lora(), 0.02)
    optimizer = torch.optim.AdamW(trainable(model), lr=1e-2)
    for _ in range(8):
        model(**batches()[0]).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    first, *_, last = [m for m in model.modules() if hasattr(m, "lora_A")]
    first.lora_B["default"].weight.data[:, rank:] = 0
    for factor in (last.lora_A, last.lora_B):
        torch.nn.init.orthogonal_(factor["default"].weight, 0.1)
    return model


def test_each_layer_gets_the_rank_that_its_own_spectrum_asks_for() -> None:
    model = in_directions(2)
    batch = batches()[0]
    view = ftlab.adapters(model, batch, ranks=(1,)).ranks
    assert view is not None
    found = view.by_layer
    assert found is not None
    twin = copy.deepcopy(model).eval()
    for name, module in twin.named_modules():
        if not hasattr(module, "lora_A"):
            continue
        update = module.get_delta_weight("default").detach().double()
        left, values, right = torch.linalg.svd(update, full_matrices=False)
        held = (values**2).cumsum(0) / (values**2).sum()
        rank = int((held < found.share).sum()) + 1
        (said,) = [e for e in found.layers if name.endswith(e.name)]
        assert said.enough == rank
        assert said.alpha == module.scaling["default"] * rank
        module.base_layer.weight.data += (
            (left[:, :rank] * values[:rank]) @ right[:rank]
        ).float()
    with torch.no_grad():
        loss = float(twin.unload()(**batch).loss)
    assert found.loss == pytest.approx(loss, rel=1e-5)
    assert found.layers[0].enough <= 2
    whole, none = view.ranks.ranks[0].loss, view.ranks.ranks[-1].loss
    assert found.loss - whole <= 0.01 * (none - whole)
    said = repr(view)
    assert "  2 of 8: layers.0.attention.q" in said
    assert "no rank to spare: layers.1.attention.v; here more may help" in said


def test_the_suggestion_is_what_a_configuration_takes() -> None:
    model = in_directions(2)
    view = ftlab.adapters(model, batches()[0], ranks=(1,)).ranks
    assert view is not None
    assert view.by_layer is not None
    config = LoraConfig(target_modules=["q_proj", "v_proj"], **view.patterns)
    made = get_peft_model(llama(), config)
    layers = [m for m in made.modules() if hasattr(m, "lora_A")]
    assert [m.r["default"] for m in layers] == [e.enough for e in view.by_layer.layers]
    of = [m for m in model.modules() if hasattr(m, "lora_A")]
    assert [m.scaling for m in layers] == [m.scaling for m in of]


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
    ("ranks", "words"),
    [([-1], "ranks has -1"), ([2.5], "ranks has 2.5"), ([9], "ranks has 9, .* r is 8")],
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


def test_what_else_is_trained_counts_as_the_adapters() -> None:
    model = noisy(lora(modules_to_save=["lm_head"]), 0.1)
    optimizer = torch.optim.AdamW(trainable(model), lr=1e-2)
    batch = batches()[0]
    for _ in range(6):
        model(**batch).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    view = ftlab.adapters(model, batch, ranks=(1,)).ranks
    assert view is not None
    model.eval()
    with torch.no_grad(), model.disable_adapter():
        without = float(model(**batch).loss)
    assert view.ranks.without == pytest.approx(without, rel=1e-6)
    assert view.ranks.ranks[-1].loss < without - 0.01
    gained = without - view.ranks.ranks[0].loss
    assert view.headline().endswith(f"of {gained:.3g}")


def test_one_adapter_is_cut_at_a_time() -> None:
    model = noisy(lora())
    model.add_adapter("b", LoraConfig(r=4, target_modules=["q_proj"]))
    model.base_model.set_adapter(["default", "b"])
    with pytest.raises(BadValueError, match="b and default are active"):
        ftlab.adapters(model, batches()[0], ranks=[1])


def test_pairs_of_experts_stay_and_are_counted() -> None:
    experts = ["experts.gate_up_proj", "experts.down_proj"]
    model = noisy(lora(fused_experts(), target_parameters=experts))
    view = ftlab.adapters(model, batches()[0], ranks=[1]).ranks
    assert view is not None
    assert view.ranks.uncut == 2 * len(experts)
    assert "of experts cannot be cut" in repr(view)
