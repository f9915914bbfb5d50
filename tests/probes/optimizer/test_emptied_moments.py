import pytest
import torch

from ftlab.probes.optimizer.emptied_moments import EmptiedMoments, excess_of
from tests.probes.moments_of import finished, values_of

LATE = {"moments_emptied_at": 5000.0, "moments_excess": excess_of(0.9, 0.999, 5000)}


class Loop:
    """Two weights, asked about as `KeptMoments` does."""

    def __init__(self, kind=torch.optim.AdamW, **settings):
        self.weights = [torch.nn.Parameter(torch.ones(3)) for _ in range(2)]
        self.optimizer = kind(self.weights, lr=1e-3, **settings)
        self.held = [(each, self.optimizer) for each in self.weights]
        self.probe = EmptiedMoments()

    def fill(self, step=5000.0, value=0.0):
        for weight in self.weights:
            self.optimizer.state[weight] = {
                "step": torch.tensor(step),
                "exp_avg": torch.full_like(weight, value),
                "exp_avg_sq": torch.full_like(weight, value),
                "max_exp_avg_sq": torch.full_like(weight, 1.0),
            }

    def step(self, gradients=(1.0, 1.0)):
        self.probe.before(self.held)
        for weight, gradient in zip(self.weights, gradients, strict=True):
            weight.grad = torch.full_like(weight, gradient)
        self.optimizer.step()
        self.readings = list(self.probe.after(self.held))
        return values_of(finished(self.readings))


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.AdamW])
def test_tells_of_a_late_count_beside_empty_moments_once(kind):
    loop = Loop(kind)
    loop.fill()
    assert [loop.step(), loop.step()] == [LATE, {}]


def test_tells_of_moments_that_are_zeroed_in_place():
    loop = Loop()
    loop.fill(value=1.0)
    assert loop.step() == {}
    for state in loop.optimizer.state.values():
        state["exp_avg_sq"].zero_()
    assert loop.step()["moments_emptied_at"] == 5001.0


def test_tells_of_those_of_two_optimizers_that_step_one_after_the_other():
    loops = [Loop(), Loop()]
    held = [pair for loop in loops for pair in loop.held]
    for loop in loops:
        loop.fill()
        for weight in loop.weights:
            weight.grad = torch.ones_like(weight)
    probe = EmptiedMoments()
    probe.before(held)
    for loop in loops:
        loop.optimizer.step()
        said = values_of(finished(list(probe.after(held))))
        assert said["moments_emptied_at"] == 5000.0


def test_a_beginning_at_0_is_as_large_as_it_should_be():
    loop = Loop()
    loop.fill(step=0.0)
    assert loop.step() == {"moments_emptied_at": 0.0, "moments_excess": 1.0}


def test_optimizers_that_begin_or_go_on_are_not_looked_at():
    loop = Loop()
    for _ in range(3):
        assert loop.step() == {}
        assert loop.readings == []


def test_parts_that_never_get_a_gradient_are_empty_for_good():
    loop = Loop()
    loop.fill()
    assert loop.step(gradients=(0.0, 0.0)) == {}
    loop.optimizer.state[loop.weights[0]]["exp_avg_sq"].fill_(1.0)
    assert loop.step() == {}


@pytest.mark.parametrize(
    ("kind", "settings"),
    [(torch.optim.AdamW, {"amsgrad": True}), (torch.optim.NAdam, {})],
)
def test_other_denominators_are_left_out(kind, settings):
    loop = Loop(kind, **settings)
    loop.fill()
    for state in loop.optimizer.state.values():
        state["mu_product"] = torch.tensor(1.0)
    assert loop.step() == {}


def test_the_excess_is_that_of_a_simulated_adam():
    def largest(steps):
        """The largest update of a steady gradient of 1."""
        weight = torch.nn.Parameter(torch.zeros(1, dtype=torch.float64))
        optimizer = torch.optim.Adam([weight], lr=1.0)
        zeros = {k: torch.zeros_like(weight) for k in ("exp_avg", "exp_avg_sq")}
        optimizer.state[weight] = {"step": torch.tensor(steps), **zeros}
        moved = []
        for _ in range(60):
            before = weight.item()
            weight.grad = torch.ones_like(weight)
            optimizer.step()
            moved.append(abs(weight.item() - before))
        return max(moved)

    for steps in (0.0, 100.0, 5000.0):
        assert largest(steps) == pytest.approx(excess_of(0.9, 0.999, steps), rel=1e-3)


def test_looking_leaves_no_entry_in_the_optimizer():
    loop = Loop()
    loop.probe.before(loop.held)
    list(loop.probe.after(loop.held))
    assert len(loop.optimizer.state) == 0
