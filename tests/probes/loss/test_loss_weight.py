"""The weight of a loss is read from its graph, and what cannot be read is not told."""

import pytest
import torch
from torch.nn import functional

from ftlab.probes.loss.loss_weight import weigh
from tests.probes.recording import Recording

X = torch.randn(4, 6, generator=torch.Generator().manual_seed(0))


def logits():
    return X.clone().requires_grad_()


def entropy(**settings):
    return functional.cross_entropy(logits(), torch.tensor([1, 2, 3, -100]), **settings)


def mean(**settings):
    return functional.mse_loss(logits(), X + 1, **settings)


def weight_of(loss, **settings):
    found = weigh([loss], **settings)
    return found.kind, pytest.approx(found.weight), found.divided


@pytest.mark.parametrize(
    ("loss", "kind", "weight", "divided"),
    [
        (entropy(), "mean", 1, []),
        (entropy() / 4, "mean", 1 / 4, [4]),
        (entropy() / 4 / 4, "mean", 1 / 16, [4, 4]),
        (entropy() * 0.25, "mean", 1 / 4, []),
        (torch.tensor(0.5) * entropy(), "mean", 1 / 2, []),
        (entropy().div_(3), "mean", 1 / 3, [3]),
        (mean() / torch.tensor(8), "mean", 1 / 8, [8]),
        (-logits().mean() / 1, "mean", 1, []),
        (functional.l1_loss(logits(), X).double() / 2, "mean", 1 / 2, [2]),
        ((entropy() + mean()) / 2 / 4, "mean", 1 / 4, [4, 2]),
        (entropy() / 2 - 3 * mean(), "mean", 3.5, []),
        (entropy(reduction="sum") / 3, "sum", 0, [3]),
        ((logits() * X).sum() / torch.tensor(7), "sum", 0, [7]),
    ],
)
def test_factors_are_read_down_to_the_reduction(loss, kind, weight, divided):
    assert weight_of(loss) == (kind, weight, divided)


def test_the_first_product_of_a_scaled_loss_is_the_scale():
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    loss = scaler.scale(entropy() / 4)
    assert weight_of(loss, scaled=True) == ("mean", 1 / 4, [4])


@pytest.mark.parametrize(
    "losses",
    [
        [],
        [entropy(), entropy()],
        [X],
        [None],
        [entropy() * mean()],
        [torch.logsumexp(logits().flatten(), 0)],
        [entropy() / X[0, 0].sqrt().sqrt()],  # NaN
        [(logits() / X).mean(1)[0]],
    ],
)
def test_nothing_is_said_of_what_the_graph_does_not_tell(losses):
    assert weigh(losses).detail() == {}


class Own(torch.autograd.Function):
    """Keeps what looks like torch's own."""

    @staticmethod
    def forward(ctx, value):
        ctx._saved_reduction = ["mean"]
        return value.mean()

    @staticmethod
    def backward(_, gradient):
        return gradient.expand(4, 6)


def test_a_function_of_ones_own_is_not_understood():
    assert weigh([Own.apply(logits())]).detail() == {}


def test_a_saved_tensor_that_a_hook_would_bring_is_left_alone():
    brought = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, brought.append):
        loss = entropy() / torch.tensor(4.0)
    assert weigh([loss]).detail() == {}
    assert brought == []


def test_the_graph_is_as_it_was():
    loss = entropy() / 4
    weigh([loss])
    loss.backward()


def trained(loss_of, micro=2):
    """Record an update of some micro-batches; return details of its backwards."""
    torch.manual_seed(0)
    model = torch.nn.Linear(6, 6)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Recording(model, optimizer) as recording:
        for number in range(micro):
            loss_of(model(X), number).backward()
        optimizer.step()
    return [dict(e.detail) for e in recording.ledger(0) if e.op == "backward"]


def test_the_ledger_tells_of_each_backward_and_its_labels():
    targets = torch.tensor([[1, 2, 3, -100], [1, -100, -100, -100]])

    def loss_of(out, number):
        return functional.cross_entropy(out, targets[number]) / 2

    first, second = trained(loss_of)
    assert (first["loss"], first["node"], first["weight"]) == ("mean", "NllLoss", 0.5)
    assert first["divided"] == [2.0]
    assert (first["labels"], second["labels"]) == (3, 1)


def test_weighed_labels_are_not_counted():
    weights = torch.arange(1.0, 7.0)

    def loss_of(out, _):
        return functional.cross_entropy(out, torch.tensor([1, 2, 3, 4]), weights)

    assert "labels" not in trained(loss_of)[0]
