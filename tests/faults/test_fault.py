"""The shape of a fault."""

import pytest
import torch

from ftlab.faults.fault import Case, Fault, Healthy
from ftlab.faults.registry import load
from ftlab.probes import dynamo_private


def test_batches_are_gone_through_again_and_again():
    seen = []

    def step(batch):
        seen.append(batch)
        return float(len(seen))

    case = Case(torch.nn.Linear(1, 1), None, ["a", "b", "c"], step)
    assert case.run(2) == [1.0, 2.0]
    assert case.run(3) == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert seen == ["a", "b", "c", "a", "b"]


def test_building_twice_gives_the_same_run():
    fault = load("scheduler-per-micro-batch")
    assert fault.build(fixed=False).run(3) == fault.build(fixed=False).run(3)


def test_the_twin_differs():
    fault = load("lr-too-high")
    assert fault.build(fixed=False).run(3) != fault.build(fixed=True).run(3)
    assert fault.area == "optimizer"
    assert fault.page.startswith("A learning rate of 1.0")


def test_graphs_of_earlier_runs_are_forgotten():
    """Dynamo counts the graphs of a code object, whichever model they were made for."""

    def doubled(x):
        return 2 * x

    def graphs():
        return [code for code, entries in dynamo_private._graphs() if entries]

    torch.compile(doubled, backend="eager")(torch.ones(2))
    assert doubled.__code__ in graphs()
    load("lr-too-high").build(fixed=False)
    assert graphs() == []


@pytest.mark.parametrize(
    ("needs", "possible"),
    [
        ((), True),
        (("torch>=2.0",), True),
        (("torch>=2.0", "torch<2.0"), False),
        (("nowhere-to-be-found",), False),
    ],
)
def test_what_needs_a_package_that_is_not_there_is_impossible(needs, possible):
    fault = Fault("x", "ADP001", (), lambda _: None, needs=needs)
    assert fault.possible is possible
    healthy = Healthy("x", (), lambda: None, needs=needs)
    assert healthy.possible is possible
