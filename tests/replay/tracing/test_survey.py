"""A survey finds losses that no backward begins from, and admits what it cannot see."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch

import ftlab


@pytest.fixture
def model():
    torch.manual_seed(0)
    return torch.nn.Linear(2, 1)


def loss_of(model: torch.nn.Module) -> torch.Tensor:
    return (model(torch.ones(1, 2)) * 0).log().sum()


def stop_of(model: torch.nn.Module, step: Callable[[Any], Any]) -> Any:
    with ftlab.debug(step, [None], model=model) as dbg:
        return dbg.run()


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_a_loss_without_backward_is_located(model, mode):
    def step(_: Any) -> torch.Tensor:
        with mode():
            return loss_of(model)

    report = stop_of(model, step)
    assert (report.what, report.op) == ("inf", "aten.log.default")


def test_a_loss_that_only_grad_is_called_on_is_located(model):
    def step(_: Any) -> None:
        parameters = list(model.parameters())
        gradients = torch.autograd.grad(loss_of(model), parameters)
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient

    report = stop_of(model, step)
    assert (report.op, report.phase) == ("aten.log.default", "forward")
    assert report.loss == float("-inf")


def in_a_thread(work: Callable[[], Any]) -> Any:
    made: list[Any] = []
    thread = threading.Thread(target=lambda: made.append(work()))
    thread.start()
    thread.join()
    return made[0]


def test_what_another_thread_made_is_blamed_on_no_operation(model):
    def step(_: Any) -> None:
        in_a_thread(lambda: loss_of(model)).backward()

    report = stop_of(model, step)
    assert report.site is None
    assert report.kind == "unknown"
    assert "in the training thread" in report.notes[0]
