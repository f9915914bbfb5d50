"""Canaries: each private name of torch still means what replaying relies on."""

import pytest
import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook
from torch.overrides import TorchFunctionMode

from ftlab.replay import torch_private


def test_versions_count_in_place_changes():
    tensor = torch.zeros(2)
    before = torch_private.version(tensor)
    tensor.detach().add_(1)
    assert torch_private.version(tensor) == before + 1
    with torch.inference_mode():
        assert torch_private.version(torch.zeros(1)) == 0


class Recorder(torch_private.TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        node = torch_private.current_node()
        number = torch_private.last_sequence()
        if node is not None:
            number = torch_private.node_sequence(node)
        task = torch_private.graph_task()
        self.seen.append((str(func), node and node.name(), number, task))
        return func(*args, **(kwargs or {}))


def test_a_backward_node_carries_the_number_of_its_forward_op():
    x = torch.ones(2, requires_grad=True)
    with Recorder() as recorder:
        x.exp().sum().backward()
    ops = {name: (node, number, task) for name, node, number, task in recorder.seen}
    assert ops["aten.exp.default"][0] is None
    assert ops["aten.exp.default"][2] == -1
    assert ops["aten.mul.Tensor"][0] == "ExpBackward0"
    assert ops["aten.mul.Tensor"][1] == ops["aten.exp.default"][1]
    assert ops["aten.mul.Tensor"][2] >= 0
    assert torch_private.current_node() is None
    assert torch_private.graph_task() == -1


def test_a_node_without_a_forward_op_has_no_number():
    x = torch.ones(2, requires_grad=True)
    accumulate = x.exp().grad_fn.next_functions[0][0]
    assert accumulate.name() == "torch::autograd::AccumulateGrad"
    assert torch_private.node_sequence(accumulate) == -1


def test_modes_of_the_thread_are_seen():
    assert list(torch_private.thread_modes()) == []
    with torch.device("meta"), Recorder() as recorder:
        names = [type(mode).__name__ for mode in torch_private.thread_modes()]
    assert names == ["DeviceContext", "Recorder"]
    assert recorder is not None


def test_hooks_on_saved_tensors_are_seen():
    assert not torch_private.saved_tensor_hooks_on()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        assert torch_private.saved_tensor_hooks_on()


def test_views_share_a_storage_key():
    tensor, other = torch.zeros(4), torch.zeros(4)
    assert torch_private.storage_key(tensor) == torch_private.storage_key(tensor[1:])
    assert torch_private.storage_key(tensor) != torch_private.storage_key(other)
    sparse = torch.eye(2).to_sparse()
    assert torch_private.storage_key(sparse) == id(sparse)


def test_values_of_uncoalesced_sparse_tensors_are_read():
    sparse = torch.sparse_coo_tensor([[0, 0]], [1.0, 2.0], (2,))
    assert torch_private.sparse_values(sparse).tolist() == [1.0, 2.0]


def test_schemas_tell_what_is_written():
    arguments = torch_private.schema(torch.ops.aten.add_.Tensor).arguments
    assert arguments[0].alias_info.is_write
    assert arguments[1].alias_info is None


def test_a_hook_can_be_put_first():
    order = []
    first = register_optimizer_step_pre_hook(lambda *_: order.append("first"))
    second = register_optimizer_step_pre_hook(lambda *_: order.append("second"))
    try:
        torch_private.call_first(second)
        torch.optim.SGD([torch.nn.Parameter(torch.ones(1))]).step()
    finally:
        first.remove()
        second.remove()
    assert order == ["second", "first"]


def test_the_engine_lets_an_exception_of_a_mode_through_backward():
    class Leaves(BaseException):
        pass

    class Raises(torch_private.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if torch_private.current_node() is not None:
                raise Leaves
            return func(*args, **(kwargs or {}))

    loss = torch.ones(2, requires_grad=True).exp().sum()
    with pytest.raises(Leaves), Raises():
        loss.backward()


def test_a_reserved_key_is_given_to_no_other_memory():
    held, keys = [], set()
    for _ in range(50):
        tensor = torch.ones(3)
        key = torch_private.storage_key(tensor)
        assert key not in keys
        keys.add(key)
        held.append(torch_private.reserve_key(tensor))
        del tensor
    assert torch_private.reserve_key(torch.ones(2).to_sparse()).is_sparse


def test_a_bare_step_runs_without_hooks():
    heard = []
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)
    optimizer.register_step_pre_hook(lambda *_: heard.append("hook"))
    optimizer.step()
    torch_private.bare_step(optimizer)(optimizer)
    assert heard == ["hook"]


def test_every_log_softmax_is_one_operation():
    seen = []

    class Mode(torch_private.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func.overloadpacket)
            return func(*args, **(kwargs or {}))

    logits = torch.zeros(2, 3)
    with Mode():
        logits.log_softmax(-1)
        torch.nn.functional.cross_entropy(logits, torch.zeros(2, dtype=torch.long))
    assert seen.count(torch_private.LOG_SOFTMAX) == 2


def test_a_module_knows_its_forward_hooks():
    layer = torch.nn.Linear(1, 1)
    assert not torch_private.hooked(layer)
    handle = layer.register_forward_hook(lambda *_: None)
    assert torch_private.hooked(layer)
    handle.remove()
    assert not torch_private.hooked(layer)


def test_a_compiled_module_is_told_from_a_plain_one():
    layer = torch.nn.Linear(1, 1)
    assert not torch_private.compiled_call(layer)
    assert torch_private.compiled_call(torch.compile(layer, backend="eager"))
    layer.compile(backend="eager")
    assert torch_private.compiled_call(layer)


def test_an_autocast_context_can_be_switched():
    context = torch.autocast("cpu", dtype=torch.bfloat16)
    assert torch_private.switch_autocast(context, on=False)
    with context:
        assert not torch.is_autocast_enabled("cpu")
    assert not torch_private.switch_autocast(context, on=True)
    with context:
        assert torch.is_autocast_enabled("cpu")


def test_versions_of_many_are_those_of_each_also_where_torch_does_not_count():
    with torch.inference_mode():
        uncounted = torch.ones(1)
    written = torch.ones(1).add_(1).add_(1)
    assert torch_private.versions([written, torch.ones(1)]) == [2, 0]
    assert torch_private.versions([written, uncounted]) == [2, 0]


def test_tensors_copied_together_have_their_shapes_and_nothing_of_the_originals():
    tensors = [torch.arange(4.0).view(2, 2).t(), torch.ones(()), torch.zeros(3, 0)]
    shapes = [each.shape for each in tensors]
    copies = torch_private.parted(torch_private.flattened(tensors), shapes)
    for copy, tensor in zip(copies, tensors, strict=True):
        assert copy.shape == tensor.shape
        assert torch.equal(copy, tensor)
    tensors[0].zero_()
    assert copies[0].tolist() == [[0, 2], [1, 3]]


class Calls(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(getattr(func, "__name__", str(func)))
        return func(*args, **(kwargs or {}))


def test_what_is_computed_outside_functions_is_seen_by_dispatch_modes_alone():
    with Calls() as calls, Recorder() as recorder:
        with torch_private.outside_functions():
            torch.ones(2).exp()
        torch.ones(2).log()
    assert "log" in calls.seen
    assert "exp" not in calls.seen
    assert {"aten.exp.default", "aten.log.default"} <= {op[0] for op in recorder.seen}


def test_what_is_computed_outside_modes_is_seen_by_none_of_them():
    with Calls() as calls, Recorder() as recorder:
        with torch_private.outside_modes():
            assert torch.ones(2).exp().dtype == torch.float32
        torch.ones(2).log()
    assert "exp" not in calls.seen
    assert "aten.exp.default" not in {op[0] for op in recorder.seen}
    assert "aten.log.default" in {op[0] for op in recorder.seen}


def test_modes_are_back_when_what_is_outside_of_them_raises():
    with Calls(), Recorder():
        before = list(torch_private.thread_modes())
        with pytest.raises(KeyboardInterrupt), torch_private.outside_modes():
            raise KeyboardInterrupt
        assert list(torch_private.thread_modes()) == before


def test_backward_within_modes_lets_function_modes_see_a_custom_backward():
    class Own(torch.autograd.Function):
        @staticmethod
        def forward(_context, x):
            return x * 2

        @staticmethod
        def backward(_context, gradient):
            return gradient.cosh()

    def seen(backward):
        weight = torch.zeros(3, requires_grad=True)
        with Calls() as calls:
            loss = Own.apply(weight).sum()
            backward(loss)
        return weight.grad, "cosh" in calls.seen

    plain, within = (
        seen(torch.Tensor.backward),
        seen(torch_private.backward_within_modes),
    )
    assert torch.equal(plain[0], within[0])
    assert (plain[1], within[1]) == (False, True)


def test_backward_within_modes_begins_at_other_edges_too():
    weight, other = (torch.ones(2, requires_grad=True) for _ in "ab")
    seen = []
    made = other * 2
    made.grad_fn.register_prehook(lambda given: seen.append(given) or (given[0] + 1,))
    zeros = torch_private.zeros_to(made)
    torch_private.backward_within_modes((weight * 3).sum(), [zeros])
    assert weight.grad.tolist() == [3, 3]
    assert other.grad.tolist() == [2, 2]
    assert not seen[0][0].any()
    again = other.exp()
    torch_private.backward_within_modes(torch.ones(()), [torch_private.zeros_to(again)])
    assert other.grad.tolist() == [2, 2]


def test_backward_within_modes_adds_to_gradients():
    weight = torch.ones(2, requires_grad=True)
    weight.grad = torch.ones(2)
    torch_private.backward_within_modes((weight * 3).sum())
    assert weight.grad.tolist() == [4, 4]
