"""The losses that are caught are those that torch averages."""

from collections.abc import Callable

import pytest
import torch
from torch.nn import functional

from ftlab.replay.blaming.token_losses import NONE, LossCatcher

TARGETS = torch.tensor([[3, -100, 1], [0, 4, -100]])
WEIGHT = torch.tensor([1.0, 2.0, 0.5, 1.0, 3.0])

LOSSES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "flat": lambda x: functional.cross_entropy(
        x.flatten(0, 1), TARGETS.flatten(), reduction="sum"
    ),
    "class-second": lambda x: functional.cross_entropy(
        x.movedim(-1, 1), TARGETS, reduction="sum"
    ),
    "weighted": lambda x: functional.cross_entropy(
        x.flatten(0, 1), TARGETS.flatten(), WEIGHT, reduction="sum"
    ),
    "nll": lambda x: functional.nll_loss(
        x.log_softmax(-1).flatten(0, 1), TARGETS.flatten(), reduction="sum"
    ),
    "one": lambda x: functional.cross_entropy(x[0, 0], TARGETS[0, 0]),
}


def logits() -> torch.Tensor:
    torch.manual_seed(0)
    return torch.randn(2, 3, 5, requires_grad=True)


@pytest.mark.parametrize("name", LOSSES)
def test_single_losses_sum_to_what_torch_sums(name: str) -> None:
    with LossCatcher(lambda: False) as catcher:
        total = LOSSES[name](logits())
    (caught,) = catcher.losses
    assert caught.values.nansum().item() == pytest.approx(total.item(), rel=1e-6)
    assert torch.equal(caught.values.isnan(), caught.targets == NONE)


@pytest.mark.parametrize("source", ["log-softmax", "negative log-softmax", "logits"])
def test_what_is_picked_is_a_loss(source: str) -> None:
    x = logits()
    index = TARGETS.clamp(min=0).unsqueeze(-1)
    with LossCatcher(lambda: False) as catcher:
        if source == "log-softmax":
            x.log_softmax(-1).gather(-1, index)
        elif source == "negative log-softmax":
            (-x.log_softmax(-1)).gather(-1, index)
        else:
            x.gather(-1, index)
            [torch.logsumexp(row, -1) for row in x]
    (caught,) = catcher.losses
    expected = -x.detach().log_softmax(-1).gather(-1, index).squeeze(-1)
    torch.testing.assert_close(caught.values, expected)


def test_a_gather_from_anything_else_is_none() -> None:
    x = logits()
    with LossCatcher(lambda: False) as catcher:
        x.gather(-1, TARGETS.clamp(min=0).unsqueeze(-1))
        x.log_softmax(-1).detach().gather(-1, torch.zeros(2, 3, 1, dtype=torch.long))
    assert catcher.losses == []


def test_a_metric_without_a_gradient_is_none() -> None:
    with LossCatcher(lambda: False) as catcher, torch.no_grad():
        functional.cross_entropy(logits().flatten(0, 1), TARGETS.flatten())
    assert catcher.losses == []


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("shape", ["flat", "class-second"])
def test_gradients_come_back_to_one_sample_only(shape: str, smoothing: float) -> None:
    x = logits()
    with LossCatcher(lambda: False) as catcher:
        if shape == "flat":
            arguments = x.flatten(0, 1), TARGETS.flatten()
        else:
            arguments = x.movedim(-1, 1), TARGETS
        loss = functional.cross_entropy(*arguments, label_smoothing=smoothing)
        (caught,) = catcher.losses
        caught.samples = torch.arange(2).repeat_interleave(caught.rows // 2)
        loss.backward(retain_graph=True)
        whole, x.grad = x.grad, None
        catcher.only = frozenset({1})
        loss.backward()
    assert x.grad is not None
    assert whole is not None
    assert bool((x.grad[0] == 0).all())
    assert torch.equal(x.grad[1], whole[1])
    assert bool((x.grad[1] != 0).any())


def test_gradients_come_back_to_all_afterwards() -> None:
    x = logits()
    with LossCatcher(lambda: False) as catcher:
        loss = LOSSES["flat"](x)
        catcher.only = frozenset({NONE})
    loss.backward()
    assert x.grad is not None
    assert bool((x.grad != 0).any())
