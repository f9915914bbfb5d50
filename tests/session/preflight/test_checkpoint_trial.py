"""Gradients with and without checkpointing, from one state."""

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from ftlab.session.preflight import trying
from ftlab.session.preflight.checkpoint_trial import LIMIT, compared
from ftlab.session.preflight.preflight import preflight
from tests.runs import places
from tests.session.preflight.objects import item_of
from tests.session.scenarios import LOOPS, seed

AGAIN = "gradients are those without checkpointing"


class Net(torch.nn.Module):
    """Two blocks, of which the first runs under a checkpoint."""

    def __init__(self, counts):
        super().__init__()
        self.first, self.second = torch.nn.Linear(8, 8), torch.nn.Linear(8, 1)
        self.counts, self.calls = counts, 0

    def block(self, x):
        self.calls += 1
        # norms stay what they are: only a comparison of gradients can tell
        return self.first(x.roll(1, 0) if self.counts and self.calls == 2 else x)

    def forward(self, x):
        return self.second(checkpoint(self.block, x, use_reentrant=False)).pow(2).mean()


def loop(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(batch):
        optimizer.zero_grad()
        loss = model(batch)
        loss.backward()
        optimizer.step()
        return loss

    return {
        "model": model,
        "optimizer": optimizer,
        "step": step,
        "batch": torch.randn(4, 8, generator=torch.Generator().manual_seed(0)),
    }


@pytest.mark.parametrize("name", ["checkpointing", "checkpointing_reentrant"])
def test_a_healthy_model_has_the_same_bits(name):
    seed()
    given = LOOPS[name]()
    item = item_of(
        AGAIN,
        model=given.model,
        optimizer=given.optimizer,
        batches=list(trying_batches()),
    )
    assert item.status == "passed"
    assert item.says.endswith("tensors bit for bit equal")


def trying_batches():
    from tests.models import batches

    return batches(2, seed=9)


def test_state_that_counts_calls_is_found_where_no_norm_tells():
    torch.manual_seed(0)
    checklist = preflight(**loop(Net(counts=True)))
    (item,) = [i for i in checklist if i.name == AGAIN]
    assert item.label == "error"
    assert item.evidence["largest"] > LIMIT
    assert places(item) == ["param first.weight"]


def test_the_same_block_without_state_passes():
    torch.manual_seed(0)
    assert item_of(AGAIN, **loop(Net(counts=False))).status == "passed"


def test_a_model_without_checkpoints_has_no_such_item():
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Flatten(0))
    given = loop(model)
    given["step"] = None
    assert AGAIN not in {item.name for item in preflight(**given)}


def test_checkpointing_that_is_not_torchs_is_not_judged(monkeypatch):
    import contextlib

    monkeypatch.setattr(
        trying.checkpoint_trial, "without", lambda: contextlib.nullcontext()
    )
    torch.manual_seed(0)
    item = item_of(AGAIN, **loop(Net(counts=True)))
    assert item.status == "not checked"
    assert "not torch's own" in item.says


def test_a_difference_that_two_equal_runs_have_too_is_chance():
    once, plain = {"a": torch.ones(4)}, {"a": torch.ones(4) * 1.1}
    assert compared(once, plain, {"a": torch.ones(4)}).apart
    assert not compared(once, plain, {"a": torch.ones(4) * 1.02}).apart


def test_a_gradient_that_is_missing_on_one_side_is_apart():
    assert compared({}, {"a": torch.ones(1)}, {}).apart == {"a": 1.0}
    nan = {"a": torch.full((1,), torch.nan)}
    assert compared({"a": torch.ones(1)}, nan, {}).apart == {"a": 1.0}
