"""Batches that are used up are named, and training goes on."""

import functools
import io
from typing import Any

import pytest
import torch

import ftlab
from ftlab.records.errors import NotReplayableError
from ftlab.replay.capsules.inputs import KeptInputs
from ftlab.replay.capsules.iterators import used_up

NO_INPUTS = KeptInputs((), {})


@pytest.fixture
def model():
    torch.manual_seed(0)
    return torch.nn.Linear(2, 1)


def train(model: torch.nn.Linear, rows: Any) -> torch.Tensor:
    loss = torch.stack([model(row).log().sum() for row in rows]).sum()
    loss.backward()
    model.zero_grad()
    return loss.detach()


def rows(seed: int) -> Any:
    return (torch.full((2,), float(seed)) for _ in range(2))


def test_a_generator_as_batch_is_stopped_at_and_named_and_training_goes_on(model):
    torch.nn.init.ones_(model.weight)
    feed = [rows(1), rows(-9), rows(2)]
    with ftlab.debug(lambda batch: train(model, batch), feed, model=model) as dbg:
        report = dbg.run()
        assert (report.reason, report.micro_batch) == ("anomaly", 1)
        assert not report.replayable
        assert "the batch is a generator, which the step uses up" in repr(report)
        with pytest.raises(NotReplayableError, match="pass a list or tensors"):
            dbg.back()
        assert dbg.resume().state == "finished"
    assert [bool(loss.isfinite()) for loss in dbg.result] == [True, False, True]


def test_stepping_on_stops_at_the_end_of_a_call_that_cannot_be_repeated(model):
    torch.nn.init.ones_(model.weight)

    def step(batch: Any) -> torch.Tensor:
        if batch is feed[0]:
            dbg.interrupt()
        return train(model, batch)

    feed = [rows(1), rows(1), rows(2)]
    with ftlab.debug(step, feed, model=model) as dbg:
        assert dbg.run().reason == "interrupt"
        report = dbg.step()
        assert (report.reason, report.micro_batch, report.site) == ("step", 1, None)
        assert dbg.resume().state == "finished"


def test_an_iterator_that_the_step_reads_from_is_named(model):
    torch.nn.init.ones_(model.weight)
    items = iter([rows(1), rows(-9), rows(2)])

    def step(_: int) -> torch.Tensor:
        return train(model, next(items))

    with ftlab.debug(step, range(3), model=model) as dbg:
        assert "items is a list_iterator, which the step uses up" in repr(dbg.run())
        assert dbg.resume().state == "finished"
    assert next(items, None) is None


class Loop:
    """A step that is a method, and one that is the object."""

    def __init__(self) -> None:
        self.items = iter([1, 2])

    def step(self, _: Any) -> Any:
        return next(self.items)

    __call__ = step


def test_looks_into_methods_objects_and_partial_functions():
    for function in (Loop().step, Loop(), functools.partial(Loop().step, 1)):
        assert "self.items is a list_iterator" in (used_up(function, NO_INPUTS) or "")
    bound = functools.partial(print, iter([1]), end=iter([2]))
    assert "list_iterator" in (used_up(bound, NO_INPUTS) or "")
    nested = KeptInputs(([{"a": (torch.ones(1), map(abs, []))}],), {})
    assert "the batch's 'a' is a map" in (used_up(print, nested) or "")


def test_lists_datasets_and_files_are_no_iterators():
    log, loader = io.StringIO(), torch.utils.data.DataLoader([1, 2])

    def step(batch: Any) -> None:
        log.write(str(batch))
        list(loader)

    assert used_up(step, KeptInputs(([1], {"a": (2,)}), {"b": loader})) is None
