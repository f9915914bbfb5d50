"""Where a step failed, read from the traceback alone."""

import torch

from ftlab.session.preflight.failing import failure_of
from tests.models import batches, tiny_lora


def caught(call, model):
    try:
        call()
    except Exception as error:  # noqa: BLE001  whatever a step raises is looked at
        return failure_of(error, model)
    return None


def test_the_innermost_module_is_named_cleanly():
    model = tiny_lora()
    batch = next(iter(batches(1))) | {"input_ids": torch.full((2, 4), 10**6)}
    failure = caught(lambda: model(**batch), model)
    assert (failure.phase, failure.module) == (
        "forward",
        "base_model.model.model.embed_tokens",
    )


def test_precisions_that_meet_are_read_from_the_frame():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1).half())
    failure = caught(lambda: model(torch.ones(1, 2)), model)
    assert failure.module == "1"
    assert failure.dtypes == ("float32", "float16")


def test_backward_and_the_update_are_told_apart_from_forward():
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def update():
        model.weight.grad = torch.ones(1, 2)
        optimizer.param_groups[0]["lr"] = "fast"
        optimizer.step()

    def backward():
        model(torch.ones(1, 2)).detach().sum().backward()

    assert caught(backward, model).phase == "backward"
    assert caught(update, model).phase == "optimizer step"


def test_what_the_loop_does_elsewhere_comes_with_its_line():
    failure = caught(lambda: {}["labels"], torch.nn.Linear(1, 1))
    assert failure.phase == "step"
    assert failure.line.startswith("test_failing.py:")
    assert failure.message == "KeyError: 'labels'"
