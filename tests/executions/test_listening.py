"""A listener is shown what modules are given and return."""

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from ftlab.executions.listening import Listener, Listening, heard_modules, shared_name
from ftlab.executions.wide import Wide
from ftlab.replay.torch_private import backward_within_modes
from tests.executions.sides import llama
from tests.models import tiny_lora


class Notes(Listener):
    def __init__(self, change=None):
        self.values, self.gradients, self.again = [], [], []
        self.change = change or {}

    def value(self, place, tensor, *, again):
        (self.again if again else self.values).append(place)
        return self.change.get(place[0] + place.kind, lambda t: t)(tensor)

    def gradient(self, place, gradient):
        self.gradients.append((place, gradient.clone()))
        change = self.change.get(place.module + place.kind + "'")
        return change and change(gradient)


class Twice(nn.Module):
    """Uses one layer twice, and one value in two places."""

    def __init__(self):
        super().__init__()
        self.layer, self.add = nn.Linear(2, 2, bias=False), Add()
        self.layer.weight.data = 2 * torch.eye(2)

    def forward(self, x):
        return self.add(self.layer(self.layer(x)), other=3 * x).sum()


class Add(nn.Module):
    def forward(self, x, *, other):
        return x + other


def listen(model, x, notes):
    with Listening(model, notes):
        model(x).backward()
    return x.grad


def test_places_are_shown_in_order_with_their_calls_and_arguments():
    notes = Notes()
    listen(Twice(), torch.ones(1, 2, requires_grad=True), notes)
    assert [tuple(place) for place in notes.values] == [
        ("", 0, "in", "0"),
        ("layer", 0, "in", "0"),
        ("layer", 0, "out", ""),
        ("layer", 1, "in", "0"),
        ("layer", 1, "out", ""),
        ("add", 0, "in", "0"),
        ("add", 0, "in", "other"),
        ("add", 0, "out", ""),
        ("", 0, "out", ""),
    ]


def test_gradients_are_those_of_one_use():
    notes, x = Notes(), torch.ones(1, 2, requires_grad=True)
    assert listen(Twice(), x, notes).tolist() == [[7, 7]]
    found = {tuple(place): gradient for place, gradient in notes.gradients}
    assert found["layer", 0, "in", "0"].tolist() == [[4, 4]]
    assert found["layer", 1, "in", "0"].tolist() == [[2, 2]]
    assert found["", 0, "in", "0"].tolist() == [[7, 7]]


def test_another_value_goes_on_and_the_gradient_passes():
    notes, x = Notes({"layerout": torch.zeros_like}), torch.ones(1, 2)
    model = Twice()
    with Listening(model, notes):
        out = model(x.requires_grad_())
    assert out == 6
    out.backward()
    assert x.grad.tolist() == [[7, 7]]
    changed = Notes({"addout'": lambda gradient: gradient * 10})
    x.grad = None
    assert listen(Twice(), x, changed).tolist() == [[70, 70]]


def test_what_the_listener_computes_is_seen_by_no_mode():
    seen = []

    def note(tensor):
        seen.append((tensor + tensor.float()).dtype)
        return tensor

    model, x = nn.Linear(2, 2).bfloat16(), torch.ones(1, 2).bfloat16()
    with Listening(model, Notes({"in": note})), Wide(), torch.no_grad():
        model(x)
    assert seen == [torch.float32]


@pytest.mark.parametrize("reentrant", [True, False])
def test_what_a_checkpoint_computes_anew_is_told_apart(reentrant):
    block = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    notes = Notes()
    with Listening(block, notes):
        x = torch.ones(1, 2, requires_grad=True)
        checkpoint(block, x, use_reentrant=reentrant).sum().backward()
    assert len(notes.values) == 6
    assert notes.again == notes.values[: len(notes.again)]  # it may stop early
    assert len(notes.again) >= 4
    assert x.grad is not None


def test_hooks_of_the_user_belong_to_their_module():
    notes, model = Notes(), Twice()
    given, made = [], []
    model.add.register_forward_pre_hook(lambda _, a: (torch.zeros_like(a[0]),))
    model.add.register_forward_hook(lambda *of: of[-1] * 0 + 5)
    change = {
        "addin": lambda t: given.append(t.sum().item()) or t,
        "addout": lambda t: made.append(t.sum().item()) or t,
    }
    notes = Notes(change)
    listen(model, torch.ones(1, 2, requires_grad=True), notes)
    assert given == [8, 6]
    assert made == [10]


def test_hooks_on_a_gradient_belong_to_the_module_whose_code_puts_them():
    class Hooked(nn.Module):
        def forward(self, x):
            x.register_hook(lambda gradient: gradient * 10)
            return x * 1

    notes, model = Notes(), nn.Sequential(Hooked(), nn.Tanh())
    with Listening(model, notes):
        out = model(torch.zeros(2, requires_grad=True))
        out.register_hook(lambda gradient: gradient * 3)
        out.sum().backward()
    found = {tuple(place): gradient.tolist() for place, gradient in notes.gradients}
    assert found["0", 0, "out", ""] == [3, 3]
    assert found["0", 0, "in", "0"] == [30, 30]


def test_a_gradient_that_is_not_defined_is_not_shown():
    class Nothing(torch.autograd.Function):
        @staticmethod
        def forward(_context, x):
            return x * 1

        @staticmethod
        def backward(_context, _gradient):
            return None

    class Drops(nn.Module):
        def forward(self, x):
            return Nothing.apply(x)

    notes = Notes()
    with Listening(Drops(), notes) as listening:
        listening._model(torch.ones(1, requires_grad=True)).backward()
    assert [place.kind for place, _ in notes.gradients] == ["out"]


def test_a_gradient_that_is_awaited_comes_where_code_drops_it():
    class Awaiting(Notes):
        def awaits(self, place):
            return place.module == "0"

    notes, model = Awaiting(), nn.Sequential(nn.Identity(), nn.Tanh())
    with Listening(model, notes) as listening:
        model(torch.ones(2, 2, requires_grad=True)).detach()
        backward_within_modes(torch.ones(()), listening.awaited)
    assert [place.module for place, _ in notes.gradients][:2] == ["0", "0"]
    assert not any(gradient.any() for _, gradient in notes.gradients)


def test_no_hook_stays_when_the_model_raises():
    model = nn.Sequential(nn.Linear(2, 2))
    with pytest.raises(RuntimeError), Listening(model, Notes()):
        model(torch.ones(1, 3))
    for module in model.modules():
        assert not module._forward_hooks
        assert not module._forward_pre_hooks


def test_a_module_that_raised_and_was_called_again_is_paired_with_its_own_call():
    class Raises(nn.Module):
        def forward(self, x):
            if x.sum() > 1:
                raise ValueError
            return x

    class Tries(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Raises()

        def forward(self, x):
            try:
                return self.inner(x + 9)
            except ValueError:
                return self.inner(x)

    notes, model = Notes(), Tries()
    with Listening(model, notes):
        model(torch.ones(1))
    calls = [(p.call, p.kind) for p in notes.values if p.module == "inner"]
    assert calls == [(0, "in"), (1, "in"), (1, "out")]


def test_names_are_those_of_the_model_without_wrappers():
    plain, lora = llama(), tiny_lora(llama())
    names = {name for name, _ in heard_modules(plain)}
    assert names <= {name for name, _ in heard_modules(lora)}
    assert dict(heard_modules(lora))[""] is lora.base_model.model
    assert shared_name("_orig_mod.base_model.model.lm_head") == "lm_head"


def test_what_is_inside_compiled_code_is_not_heard():
    model = nn.Sequential(nn.Sequential(nn.Linear(1, 1)), nn.ReLU())
    model[0].compile(backend="eager")
    assert [name for name, _ in heard_modules(model)] == ["", "0", "1"]
