"""Means over masked positions, and what only looks like them."""

import pytest
import torch
from torch.nn.functional import cross_entropy

from ftlab.probes.loss.loss_weight import weigh
from ftlab.probes.loss.masked_mean import counted_share, mask_of
from tests.models import update
from tests.probes.recording import Recording

MASK = torch.tensor([[0.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
LABELS = torch.tensor([[1, 2, 3], [1, 0, 2]])
IGNORED = LABELS.masked_fill(MASK == 0, -100)


def tokens(logits, labels=LABELS):
    flat = cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none")
    return flat.view(2, 3)


def by_hand(logits):
    logs = logits.log_softmax(-1).gather(-1, LABELS.unsqueeze(-1)).squeeze(-1)
    return -(logs * MASK)


def share_of(loss):
    mean = weigh([loss]).mean
    mask = None if mean is None else mask_of(mean)
    return None if mask is None else counted_share(mask).item()


MEANS = {
    "a mask": lambda x: (tokens(x) * MASK).mean(),
    "a mask in front": lambda x: (MASK * tokens(x)).mean(),
    "a mask of bools": lambda x: (tokens(x) * MASK.bool()).mean(),
    "two means": lambda x: (tokens(x) * MASK).mean(1).mean() / 4,
    "by hand": lambda x: by_hand(x).mean(),
    "labels that do not count": lambda x: tokens(x, IGNORED).mean(),
}
OTHERS = {
    "over what counts": lambda x: (tokens(x) * MASK).sum() / MASK.sum(),
    "labels, and torch divides": lambda x: cross_entropy(
        x.flatten(0, 1), IGNORED.flatten()
    ),
    "a number": lambda x: (tokens(x) * 0.5).mean(),
    "a weight per row": lambda x: (tokens(x) * MASK[:, :1]).mean(),
    "no losses of tokens": lambda x: (x.mean(-1) * MASK).mean(),
    "a sum per row": lambda x: (tokens(x) * MASK).sum(1).mean(),
    "what is learned": lambda x: (tokens(x) * MASK.clone().requires_grad_()).mean(),
}


@pytest.mark.parametrize("make", MEANS.values(), ids=MEANS)
def test_half_of_the_positions_count(make):
    loss = make(torch.randn(2, 3, 4, requires_grad=True))
    assert share_of(loss) == 0.5


@pytest.mark.parametrize("make", OTHERS.values(), ids=OTHERS)
def test_other_means_have_no_mask(make):
    assert share_of(make(torch.randn(2, 3, 4, requires_grad=True))) is None


def test_weights_that_are_neither_0_nor_1_are_no_mask():
    assert counted_share(MASK * 0.5).isnan().item()
    assert counted_share(torch.ones(3)).item() == 1


def test_the_share_stands_in_the_ledger():
    model = torch.nn.Linear(2, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Recording(model, optimizer) as recording:
        for make in (MEANS["a mask"], OTHERS["over what counts"]):
            update(make(model(torch.ones(2, 3, 2))), optimizer)
    backwards = [
        entry.detail
        for step in (0, 1)
        for entry in recording.ledger(step)
        if entry.op == "backward"
    ]
    assert backwards[0]["counted"] == 0.5
    assert "counted" not in backwards[1]
