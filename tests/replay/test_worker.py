"""The training thread: states, commands, listeners, and what it inherits."""

import threading

import pytest
import torch

from ftlab.records.errors import FtlabWarning, NotPausedError, NotReplayableError
from ftlab.replay.control import Command
from ftlab.replay.worker import Worker


class Router:
    """Notes which cell each command came from and where output was sent."""

    def __init__(self):
        self.cell = "cell 1"
        self.routed = []

    def calling_cell(self):
        return self.cell

    def route_output(self, cell):
        self.routed.append((threading.current_thread().name, cell))


@pytest.fixture
def router():
    return Router()


@pytest.fixture
def worker(router):
    worker = Worker(lambda: router)
    yield worker
    worker.close()


def test_a_pause_hands_over_a_stop_and_takes_a_command(worker):
    worker.start(lambda: worker.pause("here").verb)
    worker.wait()
    assert (worker.state, worker.stop) == ("paused", "here")
    worker.send(Command("back"))
    worker.wait()
    assert (worker.state, worker.result, worker.stop) == ("finished", "back", None)


def test_the_output_follows_the_cell_that_gave_the_last_command(worker, router):
    worker.start(lambda: worker.pause("here"))
    worker.wait()
    router.cell = "cell 2"
    worker.send(Command("resume"))
    worker.wait()
    assert router.routed == [("ftlab-train", "cell 1"), ("ftlab-train", "cell 2")]


def test_a_click_keeps_the_output_where_it_was(worker, router):
    worker.start(lambda: worker.pause("here"))
    worker.wait()
    router.cell = None
    worker.send(Command("resume"))
    worker.wait()
    assert router.routed[-1][1] == "cell 1"


def test_a_second_start_is_refused_while_a_run_is_paused(worker):
    worker.start(lambda: worker.pause("here"))
    worker.wait()
    with pytest.raises(NotPausedError, match=r"resume\(\) or abort\(\)"):
        worker.start(lambda: None)


def test_closing_ends_a_paused_run_and_may_be_repeated(worker):
    worker.start(lambda: worker.pause("here"))
    worker.wait()
    worker.close()
    worker.close()
    assert worker.state == "aborted"


def test_a_listener_that_fails_is_dropped_with_a_warning(worker):
    heard = []
    worker.subscribe(lambda: heard.append(worker.state))
    worker.subscribe(lambda: 1 / 0)
    with pytest.warns(FtlabWarning, match="ZeroDivisionError"):
        worker.start(lambda: None)
    worker.wait()
    assert heard == ["running", "finished"]


def test_a_listener_may_send_commands(worker):
    """Listeners are called without the lock: one may act at once."""

    def listener():
        if worker.state == "paused":
            worker.send(Command("resume"))

    worker.subscribe(listener)
    worker.start(lambda: worker.pause("here").verb)
    worker.wait()
    assert worker.result == "resume"


def settings():
    return (
        torch.is_grad_enabled(),
        torch.is_autocast_enabled("cpu"),
        torch.get_autocast_dtype("cpu"),
        torch.get_num_threads(),
    )


def test_grad_mode_autocast_and_threads_are_carried_over(worker):
    worker.start(settings)
    worker.wait()
    assert worker.result == settings()
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.float16):
        mine = settings()
        worker.start(settings)
        worker.wait()
    assert worker.result == mine


def test_autocast_that_is_off_is_not_entered(worker):
    """A disabled outer autocast would keep stale casts of the weights alive."""
    weight = torch.nn.Parameter(torch.ones(2, 2))

    def train():
        results = []
        for _ in range(2):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                results.append((torch.ones(1, 2) @ weight).sum().item())
            with torch.no_grad():
                weight.mul_(2)
        return results

    worker.start(train)
    worker.wait()
    assert worker.result == [4, 8]


@pytest.mark.parametrize(
    ("context", "name"),
    [
        (lambda: torch.device("meta"), "torch.set_default_device"),
        (torch.inference_mode, "inference_mode"),
        (
            lambda: torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t),
            "saved_tensors_hooks",
        ),
    ],
)
def test_what_cannot_be_carried_over_is_refused_by_name(worker, context, name):
    with context(), pytest.raises(NotReplayableError, match=name):
        worker.start(lambda: None)
    assert worker.state == "new"


def test_waiting_for_oneself_is_refused(worker):
    worker.start(worker.wait)
    with pytest.raises(NotPausedError, match="within the run that it waits for"):
        worker.wait()


def test_closing_within_the_run_ends_it_at_the_next_stopping_point(worker):
    def run():
        worker.close()
        reached.append(True)
        worker.raise_if_aborted()
        reached.append(False)

    reached = []
    worker.start(run)
    worker.wait()
    assert (worker.state, reached) == ("aborted", [True])
