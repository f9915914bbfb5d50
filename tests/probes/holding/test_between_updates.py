"""Graphs that are kept by a loop of forwards without an update are named, too."""

import sys
import types
from collections.abc import Iterator

import pytest
import torch

import ftlab
from ftlab.records.finding import Finding

FORWARDS = 20

MONITORED = """
def look(model, batch):
    loss = model(batch).square().mean()
    losses.append({kept})
"""

CARRIED = """
def look(model, batch):
    global average
    loss = model(batch).square().mean()
    average = 0.9 * average + 0.1 * {kept}
    whole = loss + 0.1 * average
    torch.autograd.grad(whole, list(model.parameters()), retain_graph=True)
"""


@pytest.fixture
def script() -> Iterator[types.ModuleType]:
    made = types.ModuleType("run_of_forwards")
    state = {"losses": [], "average": torch.zeros(())}
    vars(made).update(torch=torch, __file__="run_of_forwards.py", **state)
    sys.modules[made.__name__] = made
    yield made
    del sys.modules[made.__name__]
    vars(made).clear()


def _findings(
    script: types.ModuleType, source: str, *, updates: int = 0, rounds: int = 1
) -> list[Finding]:
    exec(source, vars(script))
    layers = [torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, 64)]
    model = torch.nn.Sequential(*layers)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with ftlab.watch(model, optimizer) as watch:
        for _ in range(rounds):
            for _ in range(updates):
                optimizer.zero_grad()
                model(torch.randn(64, 64)).square().mean().backward()
                optimizer.step()
            for _ in range(FORWARDS):
                script.look(model, torch.randn(64, 64))
    return [each for each in watch.findings if each.code == "MEM001"]


@pytest.mark.parametrize(
    ("source", "kept", "holder"),
    [(MONITORED, "loss", "losses"), (CARRIED, "loss", "average")],
)
@pytest.mark.parametrize("updates", [0, 3])
def test_the_holder_is_named(
    script: types.ModuleType, source: str, kept: str, holder: str, updates: int
) -> None:
    (finding,) = _findings(script, source.format(kept=kept), updates=updates)
    assert finding.places[0].name == f"run_of_forwards.{holder}"
    assert "forwards without an update" in finding.message
    assert "more with each forward" in finding.message
    assert "keeps the graph" in finding.cause
    assert finding.severity.name == "WARNING"


SUMMED = f"""
def look(model, batch):
    losses.append(model(batch).square().mean())
    if len(losses) == {FORWARDS}:
        sum(losses).backward()
        losses.clear()
"""


def test_losses_that_are_summed_for_one_backward_are_not_told(
    script: types.ModuleType,
) -> None:
    assert _findings(script, SUMMED, updates=1, rounds=3) == []


@pytest.mark.parametrize(
    ("source", "kept"),
    [
        (MONITORED, "loss.item()"),
        (MONITORED, "torch.randn(64, 64)"),  # predictions that a metric needs
        (CARRIED, "loss.detach()"),
    ],
)
def test_its_healthy_twin_is_not_told(
    script: types.ModuleType, source: str, kept: str
) -> None:
    made = source.format(kept=kept)
    assert _findings(script, made, updates=3, rounds=4) == []


def test_looking_at_the_run_in_the_middle_of_a_loop_does_not_end_it(
    script: types.ModuleType,
) -> None:
    exec(MONITORED.format(kept="loss"), vars(script))
    model = torch.nn.Linear(64, 64)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with ftlab.watch(model, optimizer) as watch:
        for _ in range(FORWARDS):
            script.look(model, torch.randn(64, 64))
            assert watch.run.last_step == -1
            assert watch.findings is not None
    (finding,) = (each for each in watch.findings if each.code == "MEM001")
    assert finding.places[0].name == "run_of_forwards.losses"
