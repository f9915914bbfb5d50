"""Gradients of every layout are kept, and the step that has them runs again."""

from typing import Any

import pytest
import torch

import ftlab
from tests.replay.breakage import Breaking, NanBackward

ROWS = [torch.tensor([[1, 2, 3, 4]] * 3), torch.tensor([[4, 5, 6, 7]] * 3)] * 2


class Sparse:
    """An embedding with sparse gradients under a layer that may break."""

    def __init__(self, *, zeroes: bool = True) -> None:
        torch.manual_seed(0)
        table = torch.nn.Embedding(50, 8, sparse=True)
        self.layer = Breaking(torch.nn.Linear(8, 4), NanBackward.apply)
        self.model = torch.nn.Sequential(table, self.layer)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.zeroes = zeroes

    def step(self, batch: torch.Tensor) -> torch.Tensor:
        if self.zeroes:
            self.optimizer.zero_grad()
        loss = self.model(batch).pow(2).mean()
        loss.backward()
        self.optimizer.step()
        return loss

    @property
    def state(self) -> dict[str, Any]:
        return {name: each.tolist() for name, each in self.model.state_dict().items()}


@pytest.mark.parametrize("zeroes", [True, False])
def test_a_debugged_loop_with_sparse_gradients_is_bit_equal(zeroes: bool) -> None:
    plain, debugged = Sparse(zeroes=zeroes), Sparse(zeroes=zeroes)
    for batch in ROWS:
        plain.step(batch)
    with ftlab.debug(
        debugged.step, ROWS, model=debugged.model, optimizer=debugged.optimizer
    ) as debugger:
        assert debugger.run().state == "finished"
    assert debugged.state == plain.state


@pytest.mark.parametrize("zeroes", [True, False])
def test_the_debugger_stops_in_a_step_with_sparse_gradients(zeroes: bool) -> None:
    plain, broken = Sparse(zeroes=zeroes), Sparse(zeroes=zeroes)

    def step(batch: torch.Tensor) -> torch.Tensor:
        broken.layer.broken = batch is ROWS[1]
        return broken.step(batch)

    rows = ROWS[:2]
    plain.step(rows[0])
    with ftlab.debug(
        step, rows, model=broken.model, optimizer=broken.optimizer
    ) as debugger:
        report = debugger.run()
        assert (report.state, report.step) == ("paused", 1)
        assert "NanBackward" in repr(report)
        debugger.back()
        assert debugger.state == "paused"
        assert broken.state == plain.state
        debugger.abort()


def test_a_large_sparse_input_is_kept() -> None:
    places = torch.arange(600).repeat(2, 1)
    graph = torch.sparse_coo_tensor(places, torch.ones(600), (600, 600))
    layer = torch.nn.Linear(600, 1)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)

    def step(batch: torch.Tensor) -> torch.Tensor:
        loss = torch.sparse.mm(batch, layer.weight.T).pow(2).mean()
        loss.backward()
        optimizer.step()
        return loss

    with ftlab.debug(step, [graph], model=layer, optimizer=optimizer) as debugger:
        assert debugger.run().state == "finished"
