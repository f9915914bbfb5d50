"""One model, several threads."""

import sys
import threading
import warnings

import pytest
import torch

from ftlab.records.errors import FtlabWarning
from tests.models import update
from tests.probes.recording import Recording


def small():
    torch.manual_seed(0)
    return torch.nn.Linear(4, 1)


def in_a_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


@pytest.fixture
def often_switched():
    """Let Python go from thread to thread as often as it can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("often_switched")
def test_steps_of_threads_that_train_at_once_are_recorded_in_order():
    model = small()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    # torch itself crashes where a gradient is cleared while another thread uses it.
    gradients = threading.Lock()

    def train():
        for _ in range(40):
            loss = model(torch.ones(2, 4)).sum()
            with gradients:
                update(loss, optimizer)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # told in the next test, where it is certain
        with Recording(model, optimizer) as recording:
            threads = [threading.Thread(target=train) for _ in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    assert recording.recorder.failure is None
    numbers = [each.step for each in recording.steps]
    assert numbers == list(range(len(numbers)))
    assert len(numbers) >= 40


def test_a_forward_between_forward_and_backward_of_another_thread_is_told_once():
    model = small()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def train():
        for _ in range(2):
            loss = model(torch.ones(2, 4)).sum()
            in_a_thread(lambda: model(torch.ones(2, 4)))
            loss.backward()
            optimizer.step()

    with Recording(model, optimizer), pytest.warns(FtlabWarning) as told:
        train()
    (only,) = told
    assert "Several threads train one model" in str(only.message)


def test_a_look_in_one_thread_is_not_the_training_that_begins_in_another():
    model = small()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def train():
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()

    with Recording(model, optimizer) as recording:
        model(torch.ones(3, 4))
        in_a_thread(train)
    assert [each.micro_batches for each in recording.steps] == [1]
    assert recording.losses != [None]
