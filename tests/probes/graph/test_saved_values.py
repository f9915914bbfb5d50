import torch

from ftlab.probes.graph.saved_values import given, nodes_of, op_of, saved


def test_nodes_come_in_the_order_of_computation():
    x = torch.ones(2, requires_grad=True)
    loss = x.exp().log().sqrt().sum()
    ops = [op_of(node) for node in nodes_of([loss])]
    assert ops[:4] == ["exp", "log", "sqrt", "sum"]


def test_a_node_that_is_reached_twice_is_listed_once():
    x = torch.ones(2, requires_grad=True).exp()
    ops = [op_of(node) for node in nodes_of([(x * x.log()).sum()])]
    assert ops.count("exp") == 1


def test_losses_are_called_as_in_python():
    logits = torch.zeros(2, 3, requires_grad=True)
    loss = torch.nn.functional.cross_entropy(logits, torch.tensor([0, 1]))
    assert op_of(loss.grad_fn) == "cross_entropy"


def test_views_and_copies_are_looked_through():
    x = torch.ones(2, 3, requires_grad=True)
    product = x.log().reshape(3, 2).T.clone()[None].expand(2, -1, -1) * 2
    assert op_of(given(product.grad_fn, 0)) == "log"


def test_what_a_hook_would_bring_back_is_left_alone():
    called = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, called.append):
        result = torch.ones(1, requires_grad=True).exp()
    assert saved(result.grad_fn, "result") is None
    assert not called


def test_a_function_of_one_s_own_is_passed_over():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return 2 * x

        @staticmethod
        def backward(ctx, grad):
            return 2 * grad + 0 * ctx.saved_tensors[0]

    loss = Double.apply(torch.ones(1, requires_grad=True))
    (node,) = [n for n in nodes_of([loss]) if n.next_functions]
    assert saved(node, "self") is None
