"""The operations behind a tensor, and where two sides' part."""

import torch
from torch import nn

from ftlab.executions.listening import Listening, Place
from ftlab.executions.operations import (
    BackwardOperations,
    Dropping,
    ForwardOperations,
    Operation,
    Stopping,
    leading_to,
    parting,
)
from ftlab.executions.spool import Spool
from ftlab.executions.tape import Tape
from ftlab.executions.tokens import Grid, Meeting

STILL = Meeting(None, None)


class Chain(nn.Module):
    def __init__(self, factor=2.0):
        super().__init__()
        self.act, self.factor = nn.Tanh(), factor

    def forward(self, x):
        unused = x.cos()
        scaled = (x.exp().mT.contiguous() * self.factor).to(torch.float64).clone()
        return self.act(scaled) + 0 * unused.sum().detach()


def reached(model, place, kind=ForwardOperations):
    operations = kind()
    with Spool() as spool:
        tape = Tape(spool)
        stopping = Stopping(operations, place, tape=tape, meeting=STILL, put=tape)
        backward = kind is BackwardOperations
        x = torch.ones(2, 2, requires_grad=backward)
        with operations, Listening(model, stopping):
            out = model(x)
            if backward:
                out.sum().backward()
    return stopping.reached


def names(operations):
    return [operation.name for operation in operations]


def test_operations_lead_to_what_a_module_is_given_through_casts_and_copies():
    found = reached(Chain(), Place("act", 0, "in", "0"))
    assert names(found) == ["Tensor.exp", "Tensor.mul"]
    assert found[0].line.startswith("tests/executions/test_operations.py:")
    assert torch.equal(found[1].values[0], 2 * torch.ones(2, 2).exp())


def test_operations_of_a_module_within_are_its_own():
    found = reached(Chain(), Place("", 0, "out", ""))
    assert "tanh" not in names(found)
    assert names(found)[-1] == "Tensor.add"
    assert names(reached(Chain(), Place("act", 0, "out", ""))) == ["tanh"]


def test_operations_of_backward_are_named_by_their_nodes():
    place = Place("act", 0, "in", "0")
    found = reached(Chain(), place, BackwardOperations)
    assert "TanhBackward0" in names(found)
    assert "MulBackward0" not in names(found)


def test_operations_that_drop_a_gradient_are_told_from_others():
    class Drops(nn.Module):
        def forward(self, x):
            kept = nn.functional.silu(x) * x.detach().exp()
            return Doubled.apply(kept) * (x > 0)

    operations, place = Dropping(), Place("", 0, "out", "")
    with Spool() as spool:
        tape, model = Tape(spool), Drops()
        stopping = Stopping(operations, place, tape=tape, meeting=STILL, put=tape)
        with operations, Listening(model, stopping):
            model(torch.ones(2, requires_grad=True))
    assert names(stopping.reached) == ["Tensor.detach"]


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(_context, x):
        return x * 2

    @staticmethod
    def backward(_context, gradient):
        return gradient * 2


def test_values_are_those_that_an_operation_made_before_they_were_changed():
    class Model(nn.Module):
        def forward(self, x):
            return x.exp().zero_()

    found = reached(Model(), Place("", 0, "out", ""))
    assert names(found) == ["Tensor.exp", "Tensor.zero_"]
    assert (found[0].values[0] > 2).all()


def operation(name, value, given=()):
    made = torch.as_tensor(value, dtype=torch.float64)
    return Operation(name, "", tuple(given), (made,), (made.clone(),))


def parted(a, b, meeting=STILL):
    found = parting([operation(*x) for x in a], [operation(*x) for x in b], meeting)
    return found and tuple(each and each.name for each in found)


def test_the_first_operation_that_makes_something_else_is_told():
    one = [("exp", [1.0]), ("mul", [2.0]), ("add", [3.0])]
    other = [("exp", [1.0]), ("mul", [4.0]), ("add", [5.0])]
    assert parted(one, other) == ("mul", "mul")
    assert parted(one, one) is None
    assert parted(one, [("exp", [1 + 1e-13]), *one[1:]]) is None
    assert parted(one, [("exp", [1 + 1e-6]), *one[1:]]) == ("exp", "exp")


def test_an_operation_that_one_side_alone_has_is_told():
    one = [("exp", [1.0]), ("mul", [2.0])]
    assert parted(one, one[:1]) == ("mul", None)
    assert parted(one[:1], one) == (None, "mul")
    assert parted(one, [("exp", [1.0]), ("div", [2.0])]) == ("mul", "div")


def test_only_tokens_that_meet_are_asked():
    batch = {"input_ids": torch.ones(1, 2), "attention_mask": torch.tensor([[0, 1]])}
    grid = Grid.of(batch)
    meeting = Meeting(grid, grid)
    one, other = [("exp", [[1.0, 5.0]])], [("exp", [[9.0, 5.0]])]
    assert parted(one, other, meeting) is None
    assert parted(one, other) == ("exp", "exp")
    heads = [("sdpa", torch.tensor([[[[x], [1.0]]]])) for x in (1.0, 9.0)]
    assert parted(heads[:1], heads[1:], meeting) is None


def test_masks_are_the_same_however_they_write_never():
    lowest = [("mask", [torch.finfo(t).min, 0.0]) for t in (torch.half, torch.float)]
    assert parted(lowest[:1], lowest[1:]) is None
    assert parted(lowest[:1], [("mask", [0.0, 0.0])]) == ("mask", "mask")


def test_what_does_not_lead_there_is_left_out():
    first = operation("exp", [1.0])
    second = operation("mul", [2.0], first.made)
    aside = operation("cos", [3.0], first.made)
    found = leading_to(second.made[0], [first, aside, second])
    assert names(found) == ["exp", "mul"]
