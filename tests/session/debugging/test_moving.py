"""Going back over optimizer steps: looking at earlier ones, and returning."""

import gc
import weakref
from typing import Any

import pytest
import torch

import ftlab
from ftlab.records.errors import BadValueError, NotReplayableError
from tests.models import batches
from tests.replay.breakage import Setup
from tests.session.debugging.test_debug import debugging, same
from tests.session.scenarios import Loop, dropout, four_bit, grad_scaler, seed, trainer


def trained(setup: Setup) -> dict[str, torch.Tensor]:
    for batch in setup.feed:
        setup.step(batch)
    return setup.weights()


def calls(dbg: Any) -> int:
    """How many calls of the step have begun."""
    return len(dbg._engine.past.calls)


def to_the_end(dbg: Any) -> None:
    while dbg.state == "paused":
        dbg.resume()


def test_an_earlier_step_has_the_weights_of_its_time():
    looked = Setup()
    before = []
    step = looked.step

    def noting(batch):
        if len(before) < 3:
            before.append(looked.weights())
        return step(batch)

    with debugging(looked, noting) as dbg:
        anomaly = dbg.run()
        assert (anomaly.step, dbg.reach) == (2, 2)
        now = looked.weights()
        for index, behind, count in ((1, 1, 2), (0, 2, 1)):
            dbg.back(to="optimizer step", count=count)
            assert (dbg.where.step, dbg.where.behind) == (index, behind)
            assert same(looked.weights(), before[index])
            assert not same(looked.weights(), now)
        assert "Looking at step 0" in repr(dbg.where)
        again = dbg.resume()
        assert repr(again) == repr(anomaly)
        assert same(looked.weights(), now)


def test_the_losses_of_an_earlier_step_are_those_of_its_time():
    looked = Setup()
    losses = []

    def step(batch):
        looked.optimizer.zero_grad()
        loss = looked.loss(batch)
        losses.append(loss.item())
        loss.backward()
        looked.optimizer.step()

    with debugging(looked, step) as dbg:
        dbg.run()
        first = losses[:2]
        del losses[:]
        dbg.back(to="optimizer step", count=3)
        assert dbg.where.step == 0
        dbg.step(to="optimizer step")
        assert dbg.where.step == 1
        dbg.step(to="optimizer step")
        assert (dbg.where.behind, dbg.where.step, dbg.where.site.index) == (None, 2, 0)
        assert first[0] in losses


def in_pairs() -> Loop:
    """Accumulate over two batches; which of them it is the batch says."""
    loop = dropout()

    def step(batch):
        (loop.model(**batch["inputs"]).loss / 2).backward()
        if batch["last"]:
            loop.optimizer.step()
            loop.optimizer.zero_grad()

    return Loop(loop.model, loop.optimizer, step)


@pytest.mark.parametrize("build", [dropout, in_pairs, grad_scaler])
def test_looking_back_changes_nothing(build):
    looked, plain = build(), build()
    feed = list(batches(6))
    if build is in_pairs:
        feed = [{"inputs": b, "last": i % 2 == 1} for i, b in enumerate(feed)]
    seed()
    with ftlab.debug(
        looked.step, feed, model=looked.model, optimizer=looked.optimizer
    ) as dbg:
        dbg.break_at(when=lambda _: calls(dbg) == 4)
        dbg.run()
        for _ in range(3):
            dbg.back(to="micro-batch")
        dbg.step(count=5)
        dbg.step(to="micro-batch")
        dbg.back(count=3)
        dbg.blame()
        dbg.patch(lambda x: x * 0)
        dbg.resume()
        assert dbg.where.behind is None
        to_the_end(dbg)
    seed()
    for batch in feed:
        plain.step(batch)
    assert same(looked.model.state_dict(), plain.model.state_dict())


def test_gradients_that_wait_for_their_update_are_there_again():
    model = torch.nn.Linear(2, 1)

    def step(batch):
        loss = model(batch["x"]).sum()
        if batch["backward"]:
            loss.backward()
        return loss * batch["factor"]

    feed = [{"x": torch.ones(1, 2), "backward": True, "factor": 1.0}] * 2
    feed.append({"x": torch.ones(1, 2), "backward": False, "factor": float("nan")})
    with ftlab.debug(step, feed, model=model) as dbg:
        assert dbg.run().micro_batch == 2
        dbg.back(to="micro-batch", count=2)
        dbg.step(count=100)
        assert dbg.where.micro_batch in (1, 2)
        to_the_end(dbg)
    assert torch.equal(model.weight.grad, torch.full((1, 2), 2.0))


def test_in_4_bit_too():
    looked = four_bit()
    feed = list(batches(4))
    with ftlab.debug(
        looked.step, feed, model=looked.model, optimizer=looked.optimizer
    ) as dbg:
        dbg.break_at(step=2, when=lambda _: True)
        assert dbg.run().step == 2
        dbg.back(to="optimizer step", count=3)
        assert (dbg.where.step, dbg.where.op != "") == (0, True)
        to_the_end(dbg)
    assert dbg.state == "finished"


def test_a_trainer_is_looked_back_at_over_its_own_steps():
    def run(back: bool) -> Any:
        made = trainer(gradient_accumulation_steps=2)
        with ftlab.debug(made) as dbg:
            if back:
                dbg.break_at("layers.1.mlp", step=2, phase="forward")
            dbg.run()
            if back:
                dbg.back(to="optimizer step", count=2)
                assert (dbg.where.step, dbg.where.micro_batch) == (1, 0)
                dbg.back(to="micro-batch")
                assert (dbg.where.step, dbg.where.micro_batch) == (0, 1)
            to_the_end(dbg)
        return made

    looked, plain = run(back=True), run(back=False)
    assert same(looked.model.state_dict(), plain.model.state_dict())
    first, second = looked.state.log_history, plain.state.log_history
    assert [each.get("loss") for each in first] == [each.get("loss") for each in second]


def test_an_end_of_what_is_kept_is_told_with_the_budget():
    with debugging(Setup()) as dbg:
        dbg.run()
        with pytest.raises(NotReplayableError, match=r"back to step 0.*memory_budget"):
            dbg.back(to="optimizer step", count=9)
        assert dbg.state == "paused"


def test_a_small_budget_keeps_fewer_steps():
    size = 2 * sum(p.nbytes for p in Setup().model.parameters() if p.requires_grad)
    with debugging(Setup(), memory_budget=3 * size) as dbg:
        dbg.run()
        assert dbg.reach == 1


def test_nothing_of_a_run_that_is_over_is_kept():
    setup = Setup(lambda x: x)
    kept = []

    def step(batch):
        kept.append(weakref.ref(batch["input_ids"]))
        setup.step(batch)

    feed = ({k: v.clone() for k, v in batch.items()} for batch in setup.feed)
    dbg = ftlab.debug(step, feed, model=setup.model, optimizer=setup.optimizer)
    assert dbg.run().state == "finished"
    gc.collect()
    assert [reference() for reference in kept] == [None] * 4


def test_a_model_goes_with_its_debugger():
    def over() -> Any:
        setup = Setup(lambda x: x)
        counted = 0

        def step(batch):
            nonlocal counted
            counted += 1
            setup.step(batch)

        dbg = debugging(setup, step)
        assert dbg.run().state == "finished"
        return weakref.ref(setup.model)

    model = over()
    gc.collect()
    assert model() is None


def test_an_earlier_step_cannot_be_taken_anew():
    with debugging(Setup()) as dbg:
        dbg.run()
        dbg.back(to="optimizer step", count=2)
        tried = dbg.patch(lambda x: x)
        assert "gone" in tried.trial
        with pytest.raises(BadValueError, match="an earlier step"):
            dbg.resume(with_patch=True)
        dbg.abort()
    assert dbg.state == "aborted"


def test_abort_in_the_past_leaves_the_present():
    looked = Setup()
    with debugging(looked) as dbg:
        dbg.run()
        now = looked.weights()
        dbg.back(to="optimizer step", count=3)
        dbg.abort()
    assert same(looked.weights(), now)


def test_a_step_that_fails_in_the_past_does_not_end_the_run():
    setup = Setup()
    step = setup.step

    def failing(batch):
        if batch is setup.feed[0] and setup.calls > 2:
            raise KeyError("gone")
        return step(batch)

    with debugging(setup, failing) as dbg:
        dbg.run()
        dbg.back(to="optimizer step", count=3)
        assert dbg.state == "paused"
        assert "failed when it was executed again: KeyError" in repr(dbg.where)


def test_a_policy_that_only_goes_back_comes_to_an_end():
    asked = []

    def back(report):
        asked.append(report)
        return "back optimizer step" if len(asked) < 12 else "abort"

    with debugging(Setup(), on_pause=back) as dbg:
        dbg.run()
    said = [note for report in asked for note in report.notes]
    assert "Nothing that is kept leads further back." in said


def test_a_buffer_that_numpy_refills_is_noticed():
    buffer = torch.zeros(1, 2**17)
    model = torch.nn.Linear(2**17, 1, bias=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)

    def step(batch):
        optimizer.zero_grad()
        model(batch).mean().log().backward()
        optimizer.step()

    def feed():
        for value in (1.0, 2.0, -1.0):
            buffer.numpy()[:] = value
            yield buffer

    with torch.no_grad():
        model.weight.fill_(1.0)
    with ftlab.debug(step, feed(), model=model, optimizer=optimizer) as dbg:
        assert dbg.run().step == 2
        dbg.back(to="optimizer step", count=2)
        assert "was changed in place" in repr(dbg.where)


def test_from_within_an_update_nothing_leads_to_earlier_steps():
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=float("inf"))

    def step(batch):
        optimizer.zero_grad()
        model(batch).sum().backward()
        optimizer.step()

    feed = [torch.ones(1, 2)]
    with ftlab.debug(step, feed, model=model, optimizer=optimizer) as dbg:
        assert dbg.run().kind == "optimizer"
        with pytest.raises(NotReplayableError, match="in the optimizer step"):
            dbg.back(to="optimizer step")
        dbg.abort()
