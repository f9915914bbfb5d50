"""The probe that sees at which module tensors lose their graph."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from ftlab.probes.graph.graph_flow import GraphFlow
from ftlab.probes.recorder import Recorder
from ftlab.probes.subject import Subject
from ftlab.records.names import NameRecord
from ftlab.records.step import Block, StepRecord


class Chain(nn.Module):
    """Three linear layers, with something done to the hidden states in between."""

    def __init__(self, between=None, run=None):
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 4)
        self.third = nn.Linear(4, 1)
        self.between = between or (lambda hidden: hidden)
        self.run = run or (lambda module, hidden: module(hidden))

    def forward(self, inputs):
        hidden = self.between(self.first(inputs))
        return self.third(self.run(self.second, hidden)).sum()


def record(model, steps=1, prepare=None, micro=1):
    records = []
    parameters = [each for each in model.parameters() if each.requires_grad]
    optimizer = torch.optim.SGD(parameters, lr=0.1)
    with Recorder(Subject(model, [optimizer]), [GraphFlow(4)], records.append):
        for step in range(steps):
            if prepare is not None:
                prepare(model, step)
            for _ in range(micro):
                model(torch.ones(2, 4)).backward()
            optimizer.step()
            optimizer.zero_grad()
    return records


def cuts(records):
    rows = [r for r in records if isinstance(r, NameRecord) and r.table == "cuts"]
    return {row.name: dict(row.meta) for row in rows}


def counts(records, column="graph_cuts"):
    steps = [r for r in records if isinstance(r, StepRecord)]
    return [each.values.get(column) for each in steps]


def test_is_quiet_where_the_graph_is_whole():
    records = record(Chain())
    assert counts(records) == [0]
    assert not cuts(records)
    assert not any(isinstance(r, Block) for r in records)


def test_names_both_ends_of_a_detach_in_between():
    found = cuts(record(Chain(between=torch.Tensor.detach)))
    assert list(found) == ["first"]
    assert (found["first"]["kind"], found["first"]["op"]) == ("between", "detach")
    assert found["first"]["to"] == "second"


def test_names_a_module_that_puts_out_a_copy():
    model = Chain()
    model.second = nn.Sequential(nn.Linear(4, 4))
    model.second.register_forward_hook(lambda _, __, output: output.detach())
    found = cuts(record(model))
    assert list(found) == ["second"]
    assert (found["second"]["kind"], found["second"]["op"]) == ("hook", "detach")


def test_names_a_module_that_is_called_without_gradients():
    def quiet(module, hidden):
        with torch.no_grad():
            return module(hidden)

    found = cuts(record(Chain(run=quiet)))
    assert {name: each["kind"] for name, each in found.items()} == {"second": "no-grad"}


def reentrant(module, hidden):
    return checkpoint(module, hidden, use_reentrant=True)


def test_names_a_reentrant_checkpoint_without_a_graph_before_it():
    model = Chain(run=reentrant)
    model.first.requires_grad_(False)
    found = cuts(record(model))
    assert {name: each["kind"] for name, each in found.items()} == {
        "second": "checkpoint"
    }


def test_a_reentrant_checkpoint_with_a_graph_before_it_is_fine():
    records = record(Chain(run=reentrant), steps=2)
    assert counts(records) == [0, 0]
    assert counts(records, "recomputed") == [1, 1]


class Angles(nn.Module):
    """Makes constants of what it is given, as a rotary embedding does."""

    def forward(self, hidden):
        return torch.ones_like(hidden).detach()


def test_constants_made_of_a_tensor_are_no_cut():
    model = Chain()
    model.angles = Angles()
    model.between = lambda hidden: hidden * model.angles(hidden)
    assert counts(record(model)) == [0]


def test_a_module_without_parameters_that_all_goes_through_is_one():
    model = Chain()
    model.angles = Angles()
    model.between = model.angles
    assert list(cuts(record(model))) == ["angles"]


def test_looks_again_when_a_gradient_stays_away():
    def prepare(model, step):
        model.between = torch.Tensor.detach if step >= 5 else (lambda hidden: hidden)

    found = counts(record(Chain(), steps=8, prepare=prepare))
    assert found[:5] == [0, 0, 0, 0, 0]
    assert found[6] == 1


def test_micro_batches_share_one_set_of_hooks_and_leave_none():
    model = Chain()
    assert counts(record(model, steps=2, micro=3)) == [0, 0]
    assert not any(
        module._forward_hooks or module._forward_pre_hooks for module in model.modules()
    )


def test_compiled_modules_are_not_looked_into():
    model = Chain()
    model.compile(backend="eager")
    assert counts(record(model)) == [None]


class Noise(nn.Module):
    """Draws other numbers each time it is called."""

    def forward(self, hidden):
        self.calls = getattr(self, "calls", 0) + 1
        return hidden * (1 + 0.1 * self.calls)


def recomputed(model, steps=3):
    records = record(model, steps)
    rows = [r for r in records if isinstance(r, Block) and r.table == "recomputed"]
    names = {r.id: r.name for r in records if isinstance(r, NameRecord)}
    return [{names[i] for i in row.ids.tolist()} for row in rows]


def test_a_second_pass_that_differs_is_measured_from_the_second_step_on():
    model = Chain(run=reentrant)
    model.second = nn.Sequential(Noise(), nn.Linear(4, 4))
    found = recomputed(model)
    assert len(found) == 2
    assert {"second", "second.0", "second.1"} == found[0]


def test_a_second_pass_with_the_same_mask_does_not_differ():
    model = Chain(run=reentrant)
    model.second = nn.Sequential(nn.Dropout(0.5), nn.Linear(4, 4))
    assert recomputed(model) == []


class Dropping(nn.Module):
    """Runs a part and hands on what it got, or what it got without a graph."""

    def __init__(self, cut):
        super().__init__()
        self.part = nn.Linear(4, 4)
        self.cut = cut

    def forward(self, hidden):
        more = self.part(hidden)
        return (hidden + more).detach() if self.cut else hidden


def test_a_module_that_hands_on_what_had_no_graph_cuts_nothing():
    model = Chain(run=lambda module, hidden: module(hidden.detach()))
    model.first.requires_grad_(False)
    model.second = Dropping(cut=False)
    assert cuts(record(model)) == {}
    model.second = Dropping(cut=True)
    assert list(cuts(record(model))) == ["second"]


def test_what_runs_in_a_hook_and_is_not_returned_is_no_cut_of_the_module():
    model = Chain()
    model.first.requires_grad_(False)
    model.extra = nn.Linear(4, 4)

    def hook(_, __, output):
        model.extra(output)

    model.first.register_forward_hook(hook)
    records = record(model)
    assert not cuts(records)
    (row,) = (
        r for r in records if isinstance(r, NameRecord) and r.table == "unreached"
    )
    assert (row.name, row.meta["kind"], row.meta["to"]) == (
        "extra",
        "unreturned",
        "first",
    )
