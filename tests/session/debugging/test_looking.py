"""What can be seen at a pause: variables, parameters, and calls, in each phase."""

import gc
import weakref
from typing import Any

import pytest
import torch

import ftlab
from ftlab.records.errors import BadValueError, NotPausedError
from tests.replay.breakage import Setup
from tests.replay.test_update import HUGE, Loop
from tests.session.debugging.test_debug import debugging
from tests.session.debugging.test_what_if import root_of_zero


def log_of_zero(seen: list[Any]) -> Any:
    """Return a debugger of a step whose NaN is born in its own code."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(batch):
        scores = model(batch["x"])
        seen.append(weakref.ref(scores))
        factor = 0.0
        loss = (scores * factor).log().mean()
        loss.backward()
        optimizer.step()

    feed = [{"x": torch.ones(3, 2)}]
    return ftlab.debug(step, feed, model=model, optimizer=optimizer)


def test_the_variables_of_the_step_can_be_read():
    with log_of_zero([]) as dbg:
        dbg.run()
        assert dbg.locals["factor"] == 0.0
        assert dbg.locals["scores"].shape == (3, 1)
        assert "loss" not in dbg.locals
        assert "scores = float32[3, 1]," in repr(dbg.locals)
        dbg.locals["batch"]["x"].zero_()
        assert dbg.locals["batch"]["x"].sum() == 6


def test_nothing_of_the_step_outlives_the_stop():
    seen: list[Any] = []
    with log_of_zero(seen) as dbg:
        dbg.run()
        kept, stack, parameters = dbg.locals, dbg.stack, dbg.parameters
        assert len(kept) > 0
        assert len(stack[-1].locals) > 0
        repr(kept)
        assert dbg.resume().state == "finished"
        gc.collect()
        assert [reference() for reference in seen] == [None] * len(seen)
        assert repr(kept) == repr(parameters) == "(the run has continued)"
        with pytest.raises(NotPausedError, match="the run has left"):
            kept["scores"]


def test_nothing_of_an_execution_outlives_a_step_back():
    seen: list[Any] = []
    with log_of_zero(seen) as dbg:
        dbg.run()
        kept = dbg.locals
        assert kept["factor"] == 0.0
        dbg.back()
        gc.collect()
        assert [r() is not None for r in seen].count(True) == 1
        assert repr(kept) == "(the run has continued)"
        assert dbg.locals["factor"] == 0.0


def test_calls_are_chosen_as_the_stack_shows_them():
    with debugging(Setup()) as dbg:
        dbg.run()
        stack = dbg.stack
        for index in (0, -1, len(stack) - 1):
            assert dbg.frame(index).place == stack[index].place
        mine = dbg.frame()
        assert mine.yours
        assert all(not each.yours for each in stack[stack.index(mine) + 1 :])
        assert {*dbg.frame().locals} == {*dbg.locals}
        with pytest.raises(BadValueError, match="has the calls 0 to"):
            dbg.frame(len(stack))


def test_the_variables_of_a_library_can_be_read_too():
    with debugging(Setup()) as dbg:
        dbg.run()
        place = next(f for f in dbg.stack if "modeling_llama" in f.place)
        assert "hidden_states" in place.locals or "input_ids" in place.locals


def test_in_backward_they_are_those_of_its_caller():
    dbg, _ = root_of_zero()
    with dbg:
        assert dbg.run().phase == "backward"
        assert dbg.frame().code == "loss.backward()"
        assert dbg.locals["loss"].shape == ()
        assert {*dbg.parameters} == {"weight", "bias"}


def test_in_an_update_they_are_the_steps_and_the_optimizers():
    loop = Loop(foreach=False)
    with loop.debug(HUGE) as dbg:
        assert dbg.run().phase == "optimizer"
        assert dbg.locals["batch"].tolist() == HUGE.tolist()
        inner = dbg.frame(-1)
        assert "torch/optim/adam" in inner.place
        assert bool(inner.locals["exp_avg_sq"].isinf().any())
        assert {*dbg.parameters} == {"weight"}


def test_at_the_end_of_a_micro_batch_the_step_has_its_variables():
    dbg, _ = root_of_zero()
    with dbg:
        dbg.run()
        dbg.step(count=10_000)
        assert dbg.where.site is None
        assert "loss" in dbg.locals
        assert [*dbg.parameters] == ["weight", "bias"]


def test_in_a_module_the_parameters_are_that_modules():
    with debugging(Setup()) as dbg:
        dbg.run()
        dbg.back(to="lm_head")
        assert [*dbg.parameters] == ["weight"]
        live = dbg.parameters["weight"]
        live.zero_()
        assert bool(dbg.parameters["weight"].any())


def test_in_no_module_they_are_all_that_is_trained():
    with log_of_zero([]) as dbg:
        dbg.run()
        assert [*dbg.parameters] == ["0.weight", "0.bias", "1.weight", "1.bias"]
        assert "0.weight = float32[2, 2]," in repr(dbg.parameters)


def test_where_nothing_waits_there_is_nothing_to_see():
    with log_of_zero([]) as dbg:
        assert (len(dbg.locals), len(dbg.parameters)) == (0, 0)
        with pytest.raises(NotPausedError, match="not at a stop"):
            dbg.frame()


def test_a_policy_sees_them_too():
    met = []

    def look(_):
        met.append(dict(dbg.locals)["factor"])

    dbg = log_of_zero([])
    dbg._engine.wishes.policy = look
    with dbg:
        dbg.run()
    assert met == [0.0]
