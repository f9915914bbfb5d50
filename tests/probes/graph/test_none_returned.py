"""A backward that returns None is seen, and what it leaves without a gradient."""

import gc
import weakref

import pytest
import torch
from torch import nn

from ftlab.probes.graph.none_returned import NoneReturned

INPUTS = ("hidden", "weight")


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, hidden, weight, left_out):
        ctx.save_for_backward(hidden, weight)
        ctx.left_out = left_out
        return hidden * weight

    @staticmethod
    def backward(ctx, gradient):
        hidden, weight = ctx.saved_tensors
        found = {"hidden": gradient * weight, "weight": (gradient * hidden).sum(0)}
        found[ctx.left_out] = None
        return *(found[name] for name in INPUTS), None


class Mark:
    """Lives as long as the node that has it."""


class Scaled(nn.Module):
    def __init__(self, left_out):
        super().__init__()
        self.below = nn.Linear(2, 2, bias=False)
        self.weight = nn.Parameter(torch.ones(2))
        self.left_out = left_out

    def forward(self, hidden):
        return Scale.apply(self.below(hidden), self.weight, self.left_out)


def looked_at(model, *, looking=True):
    """What is told of all parameters after one forward and backward."""
    looker = NoneReturned(looking=looking)
    output = model(torch.ones(3, 2))
    looker.see("", {"logits": (output,)})
    output.sum().backward()
    lost = [(n, p) for n, p in model.named_parameters() if p.grad is None]
    return looker.take(lost)


@pytest.mark.parametrize(
    ("left_out", "lost"), [("weight", "weight"), ("hidden", "below.weight")]
)
def test_what_none_was_returned_for_is_named_with_the_function(left_out, lost):
    found = looked_at(Scaled(left_out))
    assert list(found) == [lost]
    line = Scale.backward.__code__.co_firstlineno
    assert found[lost].function == f"Scale.backward (test_none_returned.py:{line})"


def test_a_whole_backward_and_one_for_what_is_frozen_are_left_alone():
    assert looked_at(Scaled("nothing")) == {}
    model = Scaled("weight")
    model.weight.requires_grad_(False)
    assert looked_at(model) == {}


def test_what_another_way_leaves_without_a_gradient_is_left_alone():
    model = Scaled("weight")
    model.unused = nn.Parameter(torch.ones(1))
    assert list(looked_at(model)) == ["weight"]


def test_nothing_is_looked_at_before_something_is_missing():
    assert looked_at(Scaled("weight"), looking=False) == {}


def test_the_innermost_module_is_told():
    model, looker = Scaled("weight"), NoneReturned(looking=True)
    hooks = [
        module.register_forward_hook(
            lambda _, __, out, path=path: looker.see(path, out)
        )
        for path, module in (("top", model), ("top.below", model.below))
    ]
    model(torch.ones(3, 2)).sum().backward()
    for hook in hooks:
        hook.remove()
    assert looker.take([("w", model.weight)])["w"].path == "top"


def test_gradients_are_the_same_and_the_graph_is_let_go_of():
    looker = NoneReturned(looking=True)
    plain, seen = Scaled("nothing"), Scaled("nothing")
    seen.load_state_dict(plain.state_dict())
    plain(torch.ones(3, 2)).sum().backward()
    output = seen(torch.ones(3, 2))
    looker.see("", output)
    mark = output.grad_fn.mark = Mark()
    output.sum().backward()
    for one, other in zip(plain.parameters(), seen.parameters(), strict=True):
        assert torch.equal(one.grad, other.grad)
    looker.take([])
    graph = weakref.ref(mark)
    del output, mark
    gc.collect()
    assert graph() is None
