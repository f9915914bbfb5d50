import pytest
import torch

from ftlab.probes.graph.steep_places import steep_places


def flagged(loss):
    return [(maker.reason, *maker.ops) for maker, up in steep_places([loss]) if up]


def some(*values):
    return torch.tensor(values, requires_grad=True)


def kept(values, where):
    return torch.where(where, values, torch.zeros(())).sum()


@pytest.mark.parametrize(
    ("loss", "found"),
    [
        (lambda: some(0.0, 0.0).pow(2).sum().sqrt(), ("root of zero", "sqrt")),
        (lambda: some(0.0).pow(2).sum().pow(0.5), ("root of zero", "pow")),
        (
            lambda: kept(some(200.0, 1.0).exp(), torch.tensor([False, True])),
            ("overflow", "exp"),
        ),
        (
            lambda: kept(some(0.0, 1.0).log(), torch.tensor([False, True])),
            ("log of zero", "log"),
        ),
        (
            lambda: kept(1 / some(0.0, 1.0), torch.tensor([False, True])),
            ("infinite", "reciprocal"),
        ),
        (
            lambda: kept(some(1.0, 1.0) / some(0.0, 1.0), torch.tensor([False, True])),
            ("division by zero", "div"),
        ),
    ],
)
def test_what_gives_a_nan_to_backward_is_flagged(loss, found):
    loss = loss()
    assert loss.isfinite()
    leaves = [node.variable for node in _leaves(loss.grad_fn)]
    assert flagged(loss) == [found]
    loss.backward()
    assert not all(leaf.grad.isfinite().all() for leaf in leaves)


def _leaves(node):
    if hasattr(node, "variable"):
        return [node]
    return [leaf for n, _ in node.next_functions if n for leaf in _leaves(n)]


def test_a_row_without_any_allowed_key_is_flagged():
    scores = torch.zeros(2, 2, requires_grad=True)
    scores = scores.masked_fill(torch.tensor([[True, True], [False, True]]), -torch.inf)
    assert flagged(scores.softmax(-1)[1].sum()) == [("softmax of nothing", "softmax")]


def test_healthy_operations_are_not():
    x = some(0.5, 2.0)
    masked = torch.stack([x, x.exp()]).masked_fill(
        torch.tensor([[False, True], [False, False]]), -torch.inf
    )
    loss = masked.log_softmax(-1)[:, 0].sum() + x.sqrt().sum() + (x / x).log().sum()
    assert flagged(loss) == []
