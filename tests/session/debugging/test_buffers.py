"""Running statistics of batch norm, where a step ends as if it had never begun."""

import pytest
import torch

import ftlab


class Normed:
    """A model with batch norm, and a step that accumulates over micro-batches."""

    def __init__(self, accumulated: int, bad: int) -> None:
        torch.manual_seed(0)
        self.model = torch.nn.Sequential(
            torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4), torch.nn.Dropout(0.5)
        )
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.feed = [torch.randn(8, 4) for _ in range(bad + 1)]
        self.accumulated, self.bad = accumulated, bad
        self.states = []

    def step(self, x: torch.Tensor) -> None:
        number = next(i for i, each in enumerate(self.feed) if each is x)
        if number % self.accumulated == 0:
            self.states.append(self.state())
            self.optimizer.zero_grad()
        loss = self.model(x).pow(2).mean()
        if number == self.bad:
            loss = loss * (loss * 0).log()
        loss.backward()
        if (number + 1) % self.accumulated == 0:
            self.optimizer.step()

    def state(self, *, gradients: bool = True) -> list[torch.Tensor]:
        held = [*self.model.state_dict().values()]
        if gradients:
            held += [p.grad for p in self.model.parameters() if p.grad is not None]
        return [each.detach().clone() for each in held]

    def debug(self) -> "ftlab.Debugger":
        return ftlab.debug(
            self.step, self.feed, model=self.model, optimizer=self.optimizer
        )


@pytest.mark.parametrize("bad", [2, 3, 4])
def test_abort_takes_back_the_whole_step_from_its_first_micro_batch(bad):
    normed = Normed(3, bad)
    with normed.debug() as dbg:
        report = dbg.run()
        assert (report.step, report.micro_batch) == divmod(bad, 3)
        dbg.abort()
    now, before = normed.state(), normed.states[bad // 3]
    assert len(now) == len(before)
    assert all(map(torch.equal, now, before))


def test_roll_back_puts_buffers_back_too():
    normed = Normed(1, 3)
    with normed.debug() as dbg:
        dbg.respond("anomaly", "roll back", steps=2)
        dbg.run()
    now, before = normed.state(gradients=False), normed.states[1]
    assert all(map(torch.equal, now, before))
