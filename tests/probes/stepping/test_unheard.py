"""Updates that no optimizer makes: said once, and no memory is lost to them."""

import gc
import sys
import warnings

import pytest
import torch

from ftlab.probes.probe import Probe, Reading
from ftlab.records.errors import FtlabWarning
from tests.probes.recording import Recording


@pytest.fixture(autouse=True)
def nobody_gathers():
    """Forget what an earlier test has told accelerate: its state is the process's."""
    if (state := sys.modules.get("accelerate.state")) is not None:
        state.GradientState._reset_state()


class Eager(Probe):
    """Has a reading for each micro-batch."""

    name = "eager"

    def on_batch(self, moment, inputs):
        yield Reading(torch.ones(1), lambda values: [{"seen": float(values[0])}])


def update_by_hand(model, backwards, *, clip=False):
    for _ in range(backwards):
        model(torch.ones(2, 4)).sum().backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.sub_(0.1 * parameter.grad)
                parameter.grad = None


def watch_by_hand(model, backwards):
    with Recording(model):
        update_by_hand(model, backwards)


def tensors():
    gc.collect()
    return sum(type(each) is torch.Tensor for each in gc.get_objects())


def test_a_loop_without_an_optimizer_is_told_so_once():
    model = torch.nn.Linear(4, 1)
    with pytest.warns(FtlabWarning, match="16 backwards of Linear.*weights") as told:
        watch_by_hand(model, 100)
    assert len(told) == 1
    assert "step() of a torch.optim.Optimizer" in str(told[0].message)


def test_a_short_one_is_told_at_the_end():
    model = torch.nn.Linear(4, 1)
    with pytest.warns(FtlabWarning, match="3 backwards of Linear and no optimizer"):
        watch_by_hand(model, 3)


def test_a_compiled_step_is_not_heard_and_that_is_said():
    torch._dynamo.reset()
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    step = torch.compile(optimizer.step, backend="eager")

    def train():
        with Recording(model, optimizer):
            for _ in range(20):
                model(torch.ones(2, 4)).sum().backward()
                step()
                optimizer.zero_grad()

    with pytest.warns(FtlabWarning, match="compiled") as told:
        train()
    assert len([each for each in told if each.category is FtlabWarning]) == 1


def test_a_long_accumulation_is_no_reason_to_warn():
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FtlabWarning)
        with Recording(model, optimizer) as recording:
            for _ in range(2):
                for _ in range(700):
                    model(torch.ones(1, 4)).mean().backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
    assert [step.micro_batches for step in recording.steps] == [700, 700]
    assert all(step.clip_coefficient < 1 for step in recording.steps)


def test_an_open_step_does_not_grow(monkeypatch):
    monkeypatch.setattr("ftlab.probes.stepping.open_step.MICRO_BATCHES", 10)
    monkeypatch.setattr("ftlab.probes.stepping.ledger.CAPACITY", 10)
    model = torch.nn.Linear(4, 1)

    def growth():
        with Recording(model, probes=[Eager()]):
            update_by_hand(model, 40, clip=True)
            before = tensors()
            update_by_hand(model, 40, clip=True)
            return tensors() - before

    with pytest.warns(FtlabWarning):
        assert growth() == 0


def test_backwards_of_another_model_do_not_pile_up(monkeypatch):
    monkeypatch.setattr("ftlab.probes.stepping.loop.UNCLAIMED", 10)
    model, other = torch.nn.Linear(4, 1), torch.nn.Linear(4, 1)
    with Recording(model):
        update_by_hand(other, 40)
        before = tensors()
        update_by_hand(other, 40)
        assert tensors() == before


def test_micro_batches_beyond_the_bound_are_counted(monkeypatch):
    monkeypatch.setattr("ftlab.probes.stepping.open_step.MICRO_BATCHES", 3)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Recording(model, optimizer, probes=[Eager()]) as recording:
        for _ in range(5):
            model(torch.ones(1, 4)).mean().backward()
        optimizer.step()
    (step,) = recording.steps
    assert step.micro_batches == 5
    assert step.values["seen"] == 3
    assert step.values["micro_batches_dropped"] == 2


def noted(recording):
    return [each.detail for each in recording.ledger(-1) if each.op == "no_update"]


def watched(model, optimizer, backwards, *, gathered=0, divided=1.0, update=None):
    """Call backward often and clear now and then; returns the recording."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FtlabWarning)
        with Recording(model, optimizer) as recording:
            for number in range(1, backwards + 1):
                (model(torch.ones(2, 4)).mean() / divided).backward()
                if update is not None:
                    update()
                if gathered and number % gathered == 0:
                    optimizer.zero_grad()
            recording.early = noted(recording)
    return recording


def one(lr=0.1):
    model = torch.nn.Linear(4, 1)
    return model, torch.optim.SGD(model.parameters(), lr=lr)


def test_what_is_known_of_a_missing_update_is_noted_at_the_end():
    recording = watched(*one(), 20)
    assert recording.early == []
    (known,) = noted(recording)
    assert known["backwards"] == 20
    assert known["ended"]
    assert known["clears"] == known["held"] == known["asked"] == 0


def test_gradients_cleared_again_and_again_too_early_are_noted_at_once():
    assert watched(*one(), 15, gathered=5, divided=8.0).early == []
    (known,) = watched(*one(), 16, gathered=5, divided=8.0).early
    assert (known["clears"], known["gathered"], known["divided"]) == (3, 5, 8)
    assert not known["ended"]
    assert watched(*one(), 64, gathered=5, divided=4.0).early == []
    assert watched(*one(), 64, gathered=1, divided=4.0).early == []


@pytest.mark.parametrize("counted", [True, False])
def test_weights_that_change_by_hand_are_no_missing_update(counted):
    model, optimizer = one()

    def update():
        for each in model.parameters():
            if counted:
                with torch.no_grad():
                    each -= 0.1 * each.grad
            else:
                each.data.sub_(0.1 * each.grad)

    recording = watched(model, optimizer, 40, gathered=5, divided=8.0, update=update)
    assert noted(recording) == []


@pytest.mark.parametrize("backwards", [32, 64, 128])
def test_an_update_at_last_leaves_nothing_to_note(backwards):
    model, optimizer = one()
    with Recording(model, optimizer) as recording:
        optimizer.zero_grad()
        for _ in range(backwards):
            (model(torch.ones(2, 4)).mean() / backwards).backward()
        optimizer.step()
        optimizer.zero_grad()
    assert noted(recording) == []


def accelerated(offset, lr=0.1):
    """Count micro-batches beside accelerate, which gathers four."""
    accelerate = pytest.importorskip("accelerate")
    accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=4)
    try:
        model, optimizer = accelerator.prepare(*one(lr))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FtlabWarning)
            with Recording(model, optimizer) as recording:
                for number in range(24):
                    with accelerator.accumulate(model):
                        accelerator.backward(model(torch.ones(2, 4)).mean())
                        if offset is None or (number + offset) % 4 == 0:
                            optimizer.step()
                            optimizer.zero_grad()
                recording.early = noted(recording)
        return recording
    finally:
        accelerate.state.GradientState._reset_state()


def test_steps_that_accelerate_holds_back_are_counted_and_told_at_once():
    recording = accelerated(0)
    (early,) = recording.early
    assert (early["held"], early["asked"], early["backwards"]) == (5, 4, 18)
    assert noted(recording)[-1]["held"] == 6
    assert len(recording.steps) == 0


@pytest.mark.parametrize("lr", [0.1, 0.0])
def test_a_counter_in_step_with_accelerate_is_left_alone(lr):
    recording = accelerated(1, lr)
    assert len(recording.steps) == 6
    assert noted(recording) == []


def test_steps_that_are_held_back_between_updates_are_as_it_should_be():
    recording = accelerated(None, lr=0.0)
    assert len(recording.steps) == 6
    assert noted(recording) == []
