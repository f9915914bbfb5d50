"""Canaries: each private name of torch that the probes need still does what it did."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils.checkpoint import checkpoint

from ftlab.probes import torch_private
from tests.probes.recording import Names


def test_foreach_norm_accumulates_in_float32():
    tensors = [torch.full((1000,), 6e4, dtype=torch.float16)]
    (norm,) = torch_private.foreach_l2(tensors)
    assert norm.dtype == torch.float32
    assert norm.item() == pytest.approx(6e4 * 1000**0.5)


def test_the_infinity_norm_keeps_what_is_not_finite():
    tensors = [torch.tensor([1.0, torch.nan]), torch.tensor([-torch.inf, 1.0])]
    norms = torch_private.foreach_max(tensors)
    assert norms[0].isnan()
    assert norms[1].isinf()


def test_tensors_are_flattened_row_by_row_whatever_their_strides():
    flat = torch_private.flattened([torch.arange(4).view(2, 2).t(), torch.tensor([9])])
    assert flat.tolist() == [0, 2, 1, 3, 9]
    assert torch_private.flattened([torch.arange(3)]).tolist() == [0, 1, 2]


def test_versions_change_with_writes_and_with_other_tensors():
    tensor = torch.zeros(2)
    before = torch_private.versions([tensor, None])
    assert torch_private.versions([tensor, None]) == before
    tensor.add_(1)
    assert torch_private.versions([tensor, None]) != before
    assert torch_private.versions([None, None]) == [None, None]
    other = torch.zeros(2)
    assert torch_private.versions([other]) != torch_private.versions([tensor])


def test_backward_knows_that_it_runs():
    seen = []
    tensor = torch.ones(1, requires_grad=True)
    tensor.register_hook(lambda _: seen.append(torch_private.is_within_backward()))
    tensor.sum().backward()
    assert seen == [True]
    assert not torch_private.is_within_backward()


def test_a_scaler_s_scale_is_a_tensor_once_it_is_used():
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    assert torch_private.scale_of(scaler) is None
    scaler.scale(torch.ones(1))
    assert torch_private.scale_of(scaler).item() == 8.0
    assert torch_private.scale_of(None) is None


def test_a_fused_optimizer_is_told_scale_and_overflow():
    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.AdamW([weight], fused=True)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    seen = []

    def look(optimizer, args, kwargs):
        seen.append(torch_private.scale_left_to(optimizer).item())
        seen.append(torch_private.overflow_seen_by(optimizer).item())

    optimizer.register_step_pre_hook(look)
    scaler.scale(weight.sum()).backward()
    scaler.step(optimizer)
    assert seen == [8.0, 0.0]
    assert torch_private.scale_left_to(optimizer) is None
    assert torch_private.overflow_seen_by(optimizer) is None


def test_a_scheduler_s_first_step_is_its_constructor_s():
    seen = []

    class Listening(torch.optim.lr_scheduler.LambdaLR):
        def step(self, epoch=None):
            seen.append(torch_private.is_under_construction(self))
            super().step(epoch)

    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    scheduler = Listening(optimizer, lambda _: 1.0)
    optimizer.step()
    scheduler.step()
    assert seen == [True, False]


def test_the_classes_are_known_of_which_there_has_been_an_optimizer():
    class Made(torch.optim.SGD):
        def step(self, closure=None):
            return super().step(closure)

    class Heir(Made):
        pass

    class Never(torch.optim.SGD):
        def step(self, closure=None):
            return super().step(closure)

    Made([torch.nn.Parameter(torch.ones(2))])
    found = torch_private.kinds_made()
    assert {Made, Heir} <= found
    assert Never not in found


def traced_within(run):
    """Ask within a call of what ``run`` gets, which takes and gives a tensor."""
    seen = []

    def ask(x):
        seen.append(torch_private.is_traced())
        return x * 2

    run(ask)
    return set(seen)


def fake(ask):
    with FakeTensorMode():
        ask(torch.ones(2))


@pytest.mark.parametrize(
    "run",
    [
        lambda ask: torch.vmap(ask)(torch.ones(2)),
        lambda ask: torch.func.grad(lambda x: ask(x).sum())(torch.ones(2)),
        lambda ask: torch.func.jvp(ask, (torch.ones(2),), (torch.ones(2),)),
        lambda ask: torch.func.functionalize(ask)(torch.ones(2)),
        lambda ask: make_fx(ask)(torch.ones(2)),
        lambda ask: torch.jit.trace(ask, (torch.ones(2),), check_trace=False),
        fake,
    ],
)
@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_tracing_and_transforming_are_known(run):
    assert traced_within(run) == {True}
    assert traced_within(lambda ask: ask(torch.ones(2))) == {False}


def test_dispatch_modes_are_put_aside_and_meet_what_comes_after():
    number = (torch.ones(1, requires_grad=True) * 2.0).grad_fn._saved_other
    with Names() as outer, Names() as inner:
        torch.ones(1) + 1
        with pytest.raises(RuntimeError, match="Expected a value of type 'Tensor'"):
            number.item()
        with torch_private.unseen_by_modes():
            assert number.item() == 2.0
    assert outer.seen == ["aten.ones.default", "aten.add.Tensor"]
    assert inner.seen == [*outer.seen, "aten._local_scalar_dense.default"]
    with torch_private.unseen_by_modes():
        torch.ones(1)


def test_fake_tensors_stay_so():
    with FakeTensorMode(), torch_private.unseen_by_modes():
        assert not torch_private.has_values(torch.ones(2))


def test_a_shape_without_numbers_is_known():
    with FakeTensorMode() as mode:
        fake = mode.from_tensor(torch.ones(2))
    assert not torch_private.has_values(fake)
    assert not torch_private.has_values(torch.ones(2, device="meta"))
    assert torch_private.has_values(torch.ones(2))


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_scripts_of_modules_are_made_where_we_look(monkeypatch):
    seen, make = [], torch_private.scripting.create_script_module

    def look(module, *args, **kwargs):
        seen.append(module)
        return make(module, *args, **kwargs)

    monkeypatch.setattr(torch_private.scripting, "create_script_module", look)
    model = torch.nn.Linear(4, 1)
    torch.jit.script(model)
    assert seen == [model]


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoints_run_their_function_once_while_that_is_asked_for(reentrant):
    runs = []

    def square(x):
        runs.append(torch_private.is_within_backward())
        return x * x

    def gradient():
        x = torch.full((2,), 3.0, requires_grad=True)
        checkpoint(square, x, use_reentrant=reentrant).sum().backward()
        return x.grad.tolist()

    with torch_private.without_checkpoints():
        assert gradient() == [6.0, 6.0]
    assert runs == [False]
    assert gradient() == [6.0, 6.0]
    assert runs == [False, False, True]


def test_nodes_are_numbered_as_they_are_made():
    first = torch.ones(1, requires_grad=True).exp()
    second = first * 2
    numbers = [torch_private.node_number(t.grad_fn) for t in (first, second)]
    assert None not in numbers
    assert numbers[0] < numbers[1]
    ((leaf, _),) = first.grad_fn.next_functions
    assert torch_private.node_number(leaf) is None


@pytest.mark.parametrize("own", [False, True])
def test_hooks_on_many_modules_see_what_those_of_torch_see(own):
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    if own:
        model[1].register_forward_hook(lambda *_: seen.append("own"))
    seen = []
    handle = torch_private.hook_modules(
        [("", model), ("0", model[0]), ("1", model[1])],
        before=lambda module, *_: seen.append(("before", module)),
        first=lambda module, *_: seen.append(("first", module)),
        last=lambda module, *_: seen.append(("last", module)),
    )
    model(torch.ones(1, 2))
    of_relu = [("before", model[1]), ("last", model[1])]
    if own:
        of_relu[1:1] = [("first", model[1]), "own"]
    of_linear = [("before", model[0]), ("last", model[0])]
    assert seen == [*of_linear, *of_relu, ("last", model)]
    handle.remove()
    seen.clear()
    model(torch.ones(1, 2))
    assert seen == (["own"] if own else [])
    assert not model[0]._forward_hooks
    assert not model[0]._forward_pre_hooks
