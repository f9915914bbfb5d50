"""The trial of what gets no gradient although the loss depends on it."""

import pytest
import torch

import ftlab
from ftlab.faults.builders.tiny import adamw, batches, llama, lora
from ftlab.session.preflight.influence_trial import Influence, add_noise, influences

SIZE = 8


class Joined(torch.nn.Module):
    """A model whose second part is called through ``way``."""

    def __init__(self, way):
        super().__init__()
        torch.manual_seed(0)
        self.first = torch.nn.Linear(SIZE, SIZE)
        self.second = torch.nn.Linear(SIZE, SIZE)
        self.way = way

    def forward(self, inputs):
        both = self.first(inputs) + self.way(self.second, inputs)
        return {"loss": both.pow(2).mean()}


def used(layer, inputs):
    return layer(inputs)


def detached(layer, inputs):
    return layer(inputs).detach()


def through_numpy(layer, inputs):
    return torch.from_numpy(layer(inputs).detach().numpy())


def thrown_away(layer, inputs):
    layer(inputs)
    return 0.0


def rounded(layer, inputs):
    weight = layer.weight
    step = weight.detach().abs().max() / 7
    near = (weight / step).round() * step
    return torch.nn.functional.linear(inputs, near)


def straight_through(layer, inputs):
    weight = layer.weight
    near = (weight * 8).round() / 8
    return torch.nn.functional.linear(inputs, weight + (near - weight).detach())


def item(model, batch):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    checklist = ftlab.preflight(model, optimizer=optimizer, batch=batch)
    return next(i for i in checklist if i.name == "gradients reach what is trainable")


def judged(way):
    torch.manual_seed(1)
    return item(Joined(way), {"inputs": torch.randn(4, SIZE)})


@pytest.mark.parametrize("way", [detached, through_numpy])
def test_a_part_whose_graph_is_cut_is_named(way):
    found = judged(way)
    assert found.status == "failed"
    assert [place.name for place in found.places] == ["second.weight", "second.bias"]
    assert "no gradient, although the loss depends on it" in found.says
    assert found.evidence["changed to"] != found.evidence["loss"]


def test_a_part_without_a_derivative_is_named():
    found = judged(rounded)
    assert found.status == "failed"
    assert "second.weight" in [place.name for place in found.places]
    assert "exactly 0" in found.says


@pytest.mark.parametrize("way", [used, straight_through])
def test_a_part_with_gradients_is_not_tried(way):
    assert judged(way).status != "failed"


def test_what_is_not_used_is_not_an_alarm():
    assert judged(thrown_away).status == "not checked"


def test_lora_at_a_rate_of_0_is_well():
    model = lora(llama())
    rate = adamw(model, lr=0.0)
    (batch, *_) = batches()
    checklist = ftlab.preflight(model, optimizer=rate, batch=batch)
    reach = next(i for i in checklist if i.name.startswith("gradients reach"))
    assert reach.status != "failed"


def test_everything_is_as_it_was():
    model = Joined(detached)
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    torch.manual_seed(1)
    batch = {"inputs": torch.randn(4, SIZE)}
    state = torch.get_rng_state()
    item(model, batch)
    assert all(torch.equal(p, before[n]) for n, p in model.named_parameters())
    assert torch.equal(torch.get_rng_state(), state)


def test_a_loss_that_varies_by_itself_proves_nothing():
    losses = iter([1.0, 1.1, 1.2])
    suspect = Influence(("w",), none=True, before=0.0)
    weights = {"w": torch.zeros(1)}
    assert list(influences([suspect], weights, lambda _: next(losses))) == []


@pytest.mark.parametrize("after", [float("nan"), float("inf")])
def test_a_loss_that_is_not_finite_proves_nothing(after):
    losses = iter([1.1, after, 1.1])
    suspect = Influence(("w",), none=True, before=0.0)
    weights = {"w": torch.zeros(1)}
    assert list(influences([suspect], weights, lambda _: next(losses))) == []


def test_noise_has_the_size_of_the_weights():
    small, large = torch.zeros(1000), torch.full((1000,), 5.0)
    add_noise([small, large])
    assert float(small.std()) == pytest.approx(0.02, rel=0.1)
    assert float(large.std()) == pytest.approx(5.0, rel=0.1)
