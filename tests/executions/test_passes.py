"""An execution beside a tape."""

import pytest
import torch
from torch import nn

from ftlab.executions.listening import Listening, Place
from ftlab.executions.passes import Beside
from ftlab.executions.spool import Spool
from ftlab.executions.tape import Recording, Tape, of_weight
from ftlab.executions.tokens import Meeting

MEETING = Meeting(None, None)
X = torch.ones(1, 2)


def doubling(*names):
    """Return layers that double what they are given."""
    model = nn.Sequential()
    for name in names:
        layer = nn.Linear(2, 2, bias=False)
        layer.weight.data = 2 * torch.eye(2)
        model.add_module(name, layer)
    return model


@pytest.fixture
def spool():
    with Spool() as made:
        yield made


def run(model, listener):
    with Listening(model, listener):
        out = model(X.clone().requires_grad_())
        out.sum().backward()
    listener.finished(model)
    return out


@pytest.fixture
def tape(spool):
    made = Tape(spool)
    run(doubling("a", "b"), Recording(made))
    return made


def other():
    model = doubling("a", "b")
    model.a.weight.data *= 3
    return model


def out(name):
    return Place(name, 0, "out", "")


def test_each_tensor_is_compared_and_each_side_goes_on_with_its_own(tape):
    beside = Beside(tape, MEETING)
    assert run(other(), beside).tolist() == [[12, 12]]
    assert beside.values.apart[out("a")].item() == pytest.approx(32**0.5)
    assert beside.values.sizes[out("a")].item() == pytest.approx(8**0.5)
    assert beside.values.apart[out("b")].item() == pytest.approx(128**0.5)
    assert beside.gradients.apart[of_weight("b.weight")].item() == pytest.approx(8)
    assert beside.gradients.apart[out("b")].item() == 0


def test_with_the_tapes_values_put_in_only_the_cause_is_left(tape):
    beside = Beside(tape, MEETING, put=tape)
    assert run(other(), beside).tolist() == [[4, 4]]
    differing = [p for p, d in beside.values.apart.items() if d.any()]
    assert differing == [out("a")]
    given = Place("a", 0, "in", "0")
    differing = [p for p, d in beside.gradients.apart.items() if d.any()]
    assert differing == [given]


def test_a_gradient_is_awaited_where_the_tape_that_goes_on_has_one(tape):
    beside = Beside(tape, MEETING, put=tape)
    assert beside.awaits(out("a"))
    assert not beside.awaits(out("c"))
    assert not Beside(tape, MEETING).awaits(out("a"))


def test_values_are_put_in_some_places_alone(tape):
    beside = Beside(tape, MEETING, put=tape, only={Place("b", 0, "in", "0")})
    assert run(other(), beside).tolist() == [[4, 4]]
    assert beside.values.apart[Place("b", 0, "in", "0")].any()
    assert not beside.values.apart[out("b")].any()


def test_its_own_tensors_are_kept_all_or_those_of_the_model(tape, spool):
    kept, outputs = Tape(spool), Tape(spool)
    run(other(), Beside(tape, MEETING, put=tape, keep=kept))
    assert spool.get(kept.values[out("a")]).tolist() == [[6, 6]]
    assert kept.values.keys() == tape.values.keys()
    assert kept.gradients.keys() == tape.gradients.keys()
    run(other(), Beside(tape, MEETING, keep=outputs, outputs_only=True))
    assert [*outputs.values] == [out("")]


def test_modules_that_the_tape_lacks_are_named_once(tape):
    beside = Beside(tape, MEETING)
    run(doubling("a", "b", "c"), beside)
    assert [*beside.alone] == ["c"]


def test_whole_numbers_are_marked(spool):
    tape = Tape(spool)
    chosen = nn.Identity()
    with Listening(chosen, Recording(tape)):
        chosen(torch.tensor([[1, 2]]))
    beside = Beside(tape, MEETING)
    with Listening(chosen, beside):
        chosen(torch.tensor([[1, 3]]))
    assert beside.values.whole == {out(""), Place("", 0, "in", "0")}
    assert beside.values.apart[out("")].item() == 1


def test_the_larger_of_two_distances_counts(tape):
    one, two = Beside(tape, MEETING), Beside(tape, MEETING)
    run(other(), one)
    run(doubling("a", "b"), two)
    two.values.raise_to(one.values)
    assert two.values.apart[out("a")] == one.values.apart[out("a")]
    before = one.values.apart[out("a")].clone()
    one.values.raise_to(Beside(tape, MEETING).values)
    assert one.values.apart[out("a")] == before


class Fan(nn.Module):
    """Hands one tensor to several layers, as attention does."""

    def __init__(self):
        super().__init__()
        self.layers = doubling("a", "b", "c")

    def forward(self, x):
        x = x * 1
        return sum(k * layer(x) for k, layer in enumerate(self.layers, 1))


def test_a_tensor_that_several_are_given_has_a_gradient_of_each(spool):
    whole = Tape(spool)
    run(Fan(), Recording(whole))
    beside = Beside(whole, MEETING, put=whole)
    run(Fan(), beside)
    apart = {
        place: value.max().item() for place, value in beside.gradients.apart.items()
    }
    assert len([place for place in apart if place.kind == "in"]) >= 3
    assert max(apart.values()) == 0
