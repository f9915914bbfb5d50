"""What replaces an operation in place is written where that would have written."""

import pytest
import torch

from ftlab.records.errors import BadValueError
from ftlab.replay.trials.in_place import on_call, on_op

ATEN = torch.ops.aten


def plus_one(func, args, kwargs):
    return torch.utils._pytree.tree_map_only(
        torch.Tensor, lambda t: t + 1, func(*args, **kwargs)
    )


def test_what_is_returned_is_written():
    live = torch.tensor([1.0, 2.0])
    given = on_op(plus_one)(ATEN.mul_.Tensor, (live, 10.0), {})
    assert given is live
    assert live.tolist() == [11.0, 21.0]


def test_lists_are_written_by_operations_that_return_nothing():
    live = [torch.tensor([1.0]), torch.tensor([2.0])]
    assert on_op(plus_one)(ATEN._foreach_mul_.Scalar, (live, 10.0), {}) is None
    assert [each.item() for each in live] == [11.0, 21.0]


def test_a_function_that_writes_and_returns_nothing_has_written():
    live = torch.tensor([1.0])

    def apply(func, args, kwargs):
        args[0].fill_(7.0)

    on_op(apply)(ATEN.mul_.Tensor, (live, 10.0), {})
    assert live.item() == 7.0


def test_a_function_that_fails_has_written_nothing():
    live = torch.tensor([1.0])

    def apply(func, args, kwargs):
        func(*args, **kwargs)
        raise KeyError

    with pytest.raises(KeyError):
        on_op(apply)(ATEN.mul_.Tensor, (live, 10.0), {})
    assert live.item() == 1.0


def test_another_shape_is_refused():
    with pytest.raises(BadValueError, match=r"aten::mul_ writes \[2\]"):
        on_op(lambda *_: torch.ones(3))(ATEN.mul_.Tensor, (torch.ones(2), 2.0), {})


def test_other_operations_are_left_alone():
    live = torch.ones(2)
    given = on_op(plus_one)(ATEN.mul.Tensor, (live, 10.0), {})
    assert (given.tolist(), live.tolist()) == ([11.0, 11.0], [1.0, 1.0])


def test_a_call_in_place_is_differentiated():
    start = torch.ones(2, requires_grad=True)
    live = start * 1
    changed = on_call(lambda _, args, __: args[0] * 3)
    assert changed(torch.Tensor.mul_, (live, 10.0), {}) is live
    live.sum().backward()
    assert start.grad.tolist() == [3.0, 3.0]
