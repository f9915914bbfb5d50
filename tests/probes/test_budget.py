"""Turns within a budget, on a clock of the test's own."""

import pytest

from ftlab.probes.budget import LEAST, Budget
from ftlab.probes.own_time import own_time
from ftlab.probes.probe import Probe
from ftlab.probes.schedule import every
from ftlab.records.budget import FIRST_LOOK, SHORTEST
from ftlab.records.errors import BadValueError


class Costly(Probe):
    def __init__(self, number, interval, seconds):
        self.name = f"costly{number}"
        self.schedule = every(interval)
        self.seconds = seconds
        self.steps = []


class Training:
    """Steps of one length, of which ftlab takes what its probes and it itself cost."""

    def __init__(
        self, share, probes, *, step=0.1, usual=0.0, noise=0.0, ahead=False, told=1.0
    ):
        self.now, self.ahead, self.told = 0.0, ahead, told
        self.step, self.usual, self.noise, self.probes = step, usual, noise, probes
        self.budget = Budget(share, lambda: self.now)
        self.budget.take(probes)
        self.taken = []

    def run(self, steps):
        for number in range(steps):
            taken = self.usual * (1 + self.noise * (number % 7 - 3) / 3)
            for probe in self.probes:
                if probe.schedule(number):
                    probe.steps.append(number)
                    self.budget.spent(probe.name, number, self.told * probe.seconds)
                    taken += probe.seconds
            if self.ahead:
                self.probes[0].schedule(number + 1)
            own_time.seconds += taken
            self.now += self.step + taken
            self.taken.append(taken)
            self.budget.end(number)
        return self

    def share(self):
        """Mean share after the first look."""
        late = [t for n, t in enumerate(self.taken) if n not in FIRST_LOOK]
        return sum(late) / len(late) / self.step


@pytest.fixture
def ten():
    return [Costly(number, 16, 0.02) for number in range(10)]


def test_without_a_share_everything_is_measured_as_it_is_planned(ten):
    training = Training(None, ten[:1]).run(40)
    assert ten[0].steps == [0, 1, 2, 3, 4, 8, 16, 32]
    assert training.budget.told() == {
        "costly0": {"steps": 8, "planned": 16, "ms": 20.0}
    }


def test_the_mean_share_stays_within_the_budget(ten):
    training = Training(0.02, ten, usual=0.0005).run(4000)
    assert 0.015 < training.share() <= 0.021


def test_each_gets_as_many_turns_as_the_others_and_none_beside_another(ten):
    Training(0.02, ten).run(4000)
    late = [[step for step in probe.steps if step not in FIRST_LOOK] for probe in ten]
    assert max(map(len, late)) - min(map(len, late)) <= 1
    assert min(map(len, late)) >= 30
    assert len({step for steps in late for step in steps}) == sum(map(len, late))


def test_a_budget_that_is_large_enough_stretches_nothing(ten):
    Training(0.5, ten[:2]).run(100)
    assert len(ten[0].steps) >= len([n for n in range(100) if every(16).planned(n)]) - 2


def test_what_every_step_costs_by_itself_starves_nobody(ten):
    training = Training(0.02, ten, usual=0.004).run(4000)
    assert all(len(probe.steps) > len(FIRST_LOOK) + 5 for probe in ten)
    assert training.share() <= 0.04 + LEAST * 0.02 + 0.001


def test_steps_of_uneven_length_starve_nobody(ten):
    cheap = Costly("-not", 1, 1e-4)
    Training(0.02, [*ten, cheap], usual=0.004, noise=0.5).run(8000)
    assert all(len(probe.steps) > len(FIRST_LOOK) + 5 for probe in ten)


@pytest.mark.parametrize("ahead", [False, True])
def test_what_hooks_take_is_paid_for_whoever_asks_for_the_next_step_first(ten, ahead):
    training = Training(0.02, ten, usual=0.0005, ahead=ahead, told=0.25).run(4000)
    assert 0.015 < training.share() <= 0.021
    late = [step for probe in ten for step in probe.steps if step not in FIRST_LOOK]
    assert len(set(late)) == len(late)


def test_what_is_cheap_is_measured_at_every_step_beside_the_costly(ten):
    cheap = Costly("-not", 1, 1e-5)
    Training(0.02, [*ten, cheap]).run(400)
    assert len(cheap.steps) > 300


def test_a_short_step_counts_as_if_it_took_longer():
    probe = Costly(0, 1, 0.02 * SHORTEST / 4)
    Training(0.02, [probe], step=1e-3).run(100)
    assert len(probe.steps) >= 99


@pytest.mark.parametrize("share", [0, -1, 1.5, float("nan")])
def test_a_share_that_is_none_is_refused(share):
    with pytest.raises(BadValueError, match=f"budget={share}"):
        Budget(share)
