"""What the calls of one step tell of parameters without a gradient, as rows."""

import torch
from torch import nn

from ftlab.probes.graph.flow_calls import tensors_in
from ftlab.probes.graph.step_calls import LOOKS, SecondLook, StepCalls, marked
from tests.probes.moments_of import Bench, finished, rows_of


class Pair(nn.Module):
    """Two layers, of which what is run is up to the test."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2)
        self.outer = nn.Linear(2, 2)


def ended(step, path, output):
    """Tell what a module has put out in forward."""
    step.ended(path, output, tensors_in(output), again=False)


def calls(model, *ran, second=None, bench=None):
    """Call modules by path, one after the other, and take a step's backward."""
    bench = bench or Bench(model)
    modules = dict(model.named_modules())
    step = StepCalls(bench.moment(), modules, second or SecondLook())
    hidden = torch.ones(1, 2)
    step.began("")
    for path in ran:
        step.began(path)
        hidden = modules[path](hidden)
        ended(step, path, hidden)
    ended(step, "", hidden)
    return bench, step, hidden


def told(bench, step, unreturned=()):
    """Give what is marked, by the name of its row."""
    results = finished(step.readings(bench.moment(), dict(unreturned)))
    rows = rows_of(results)
    names = {row: name for (_, name), row in bench.names.items()}
    return {names[row]: bench.metas[names[row]] | rows[row] for row in rows}


def test_nothing_is_said_where_every_parameter_has_a_gradient():
    bench, step, output = calls(Pair(), "inner", "outer")
    output.sum().backward()
    assert told(bench, step) == {}


def test_a_module_that_was_not_called_is_named_with_what_ran_around_it():
    bench, step, output = calls(Pair(), "inner")
    output.sum().backward()
    found = told(bench, step)
    assert found["outer"]["kind"] == "not-called"
    assert found["outer"]["to"] == "model"
    assert found["outer"]["class"] == "Linear"
    assert found["outer"]["unreached"] == 1


def test_what_ran_in_a_hook_is_told_from_what_was_not_used():
    bench, step, _ = calls(Pair(), "inner", "outer")
    assert told(bench, step)["model"]["kind"] == "unused"
    model = Pair()
    bench, step, _ = calls(model, "inner", "outer")
    model.inner(torch.ones(1, 2)).sum().backward()
    assert told(bench, step)["outer"]["kind"] == "unused"
    assert told(bench, step, {"outer": "inner"})["outer"]["kind"] == "unreturned"


def test_a_module_that_was_not_called_is_looked_for_once_more():
    model, second = Pair(), SecondLook()
    bench, step, output = calls(model, "inner", second=second)
    output.sum().backward()
    told(bench, step)
    assert second.suspects == {"": {"outer"}}
    _, again, output = calls(model, "inner", second=second, bench=bench)
    assert (second.suspects, second.looked_at) == ({}, {"outer"})
    told(bench, again)
    assert second.suspects == {}


def test_a_weight_that_the_module_around_takes_is_seen_at_the_second_look():
    model, second = Pair(), SecondLook(suspects={"": frozenset({"outer"})})
    bench = Bench(model)
    step = StepCalls(bench.moment(), dict(model.named_modules()), second)
    step.began("")
    hidden = model.inner(torch.ones(1, 2))
    used = nn.functional.linear(hidden, model.outer.weight)
    ended(step, "", used)
    assert told(bench, step)["outer"]["kind"] == "weight-taken"
    assert second.taken == {"outer"}


class Ended(torch.autograd.Function):
    @staticmethod
    def forward(_, hidden):
        return hidden * 2

    @staticmethod
    def backward(_, __):
        return None


def test_functions_are_looked_at_in_the_step_after_and_remembered():
    model, second = Pair(), SecondLook()
    bench = Bench(model)
    kinds = []
    for _ in range(3):
        step = StepCalls(bench.moment(), dict(model.named_modules()), second)
        step.began("")
        hidden = model.inner(torch.ones(1, 2))
        step.began("inner")
        ended(step, "inner", hidden)
        output = model.outer(Ended.apply(hidden))
        step.began("outer")
        ended(step, "outer", output)
        ended(step, "", output)
        output.sum().backward()
        kinds.append((told(bench, step)["inner"]["kind"], second.wanted))
    after = ("none-returned", False)
    assert kinds == [("unused", True), after, after]
    assert bench.metas["inner"]["function"].startswith(
        "Ended.backward (test_step_calls"
    )


def test_functions_are_looked_at_a_few_times_only():
    second = SecondLook()
    for number in range(LOOKS + 1):
        second.hear([f"experts.{number}"], {})
        assert second.wanted is (number < LOOKS)


def test_a_parameter_that_another_tensor_stands_in_for_is_no_lost_one():
    model = Pair()
    given = {name: p.detach().clone() for name, p in model.named_parameters()}
    leaves = [value.requires_grad_() for value in given.values()]
    bench = Bench(model, torch.optim.SGD(leaves, lr=0.1))
    step = StepCalls(bench.moment(), dict(model.named_modules()), SecondLook())
    with torch.nn.utils.stateless._reparametrize_module(model, given):
        step.began("")
        step.began("inner")
        ended(step, "inner", model.inner(torch.ones(1, 2)))
        step.began("outer")
        ended(step, "outer", model.outer(torch.ones(1, 2)))
    found = told(bench, step)
    assert set(found) == set(given)
    assert all(row["swapped"] == 1 for row in found.values())


def test_names_are_marked_in_the_column_of_their_table():
    bench = Bench(Pair())
    rows = {"b": {"kind": "x"}, "a": {}}
    (block,) = finished([marked(bench.moment(3), "cuts", "module", rows, "cut")])
    assert (block.table, block.step) == ("cuts", 3)
    assert block.values["cut"].tolist() == [1.0, 1.0]
    assert bench.metas["b"] == {"kind": "x"}
