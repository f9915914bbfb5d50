"""Trying a change: does the step still go wrong, and nothing real has changed."""

from typing import Any

import pytest
import torch

import ftlab
from ftlab.records.errors import BadValueError, NotPausedError
from tests.replay.breakage import Setup
from tests.session.debugging.test_debug import debugging


def finished(dbg: Any) -> bool:
    while dbg.state == "paused":
        dbg.resume()
    return dbg.state == "finished"


def root_of_zero() -> Any:
    """Return a debugger of a step whose NaN is born in backward."""
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(batch):
        optimizer.zero_grad()
        loss = (model(batch) * batch[:, :1]).abs().sqrt().mean()
        loss.backward()
        optimizer.step()

    feed = [torch.ones(3, 2), torch.tensor([[1.0, 1], [0.0, 0], [2.0, 1]])]
    return ftlab.debug(step, feed, model=model, optimizer=optimizer), model


def test_a_patch_that_mends_is_gone_and_one_that_does_not_is_still_there():
    with debugging(Setup()) as dbg:
        before = dbg.run()
        mended = dbg.patch(lambda x: torch.zeros_like(x))
        assert mended.trial.startswith(
            f"patch of {before.op} {before.site.index}: gone"
        )
        assert (mended.site, mended.what) == (before.site, before.what)
        useless = dbg.patch(lambda x: x * 2)
        assert "still non-finite, from aten.log.default" in useless.trial


def test_what_was_tried_changes_nothing():
    tried, plain = Setup(), Setup()
    with debugging(tried) as dbg:
        dbg.run()
        dbg.patch(lambda x: torch.zeros_like(x))
        dbg.in_float32()
        dbg.skip_sample(0)
        assert finished(dbg)
    with debugging(plain) as dbg:
        dbg.run()
        assert finished(dbg)
    for name, weight in plain.weights().items():
        torch.testing.assert_close(
            tried.weights()[name], weight, rtol=0, atol=0, equal_nan=True
        )


def test_resuming_with_a_patch_takes_it_for_this_step_alone():
    setup = Setup()
    with debugging(setup) as dbg:
        dbg.run()
        dbg.replace("aten.log", lambda x: torch.zeros_like(x) + x.sum() * 0)
        assert dbg.resume(with_patch=True).state == "finished"
    assert all(bool(w.isfinite().all()) for w in setup.weights().values())


def test_the_derivative_goes_through_what_replaces_a_forward_operation():
    dbg, model = root_of_zero()
    with dbg:
        found = dbg.run()
        assert found.phase == "backward"
        shifted = dbg.replace("aten.sqrt", lambda x: (x + 1e-6).sqrt())
        assert "gone" in shifted.trial
        assert dbg.resume(with_patch=True).state == "finished"
    assert bool(model.weight.isfinite().all())


def test_an_operation_of_backward_can_be_patched():
    dbg, _ = root_of_zero()
    with dbg:
        dbg.run()
        assert "gone" in dbg.patch(lambda x: x.nan_to_num(posinf=0.0)).trial


def test_a_sample_can_be_left_out():
    dbg, _ = root_of_zero()
    with dbg:
        dbg.run()
        assert "still" in dbg.skip_sample(0).trial
        assert "without sample 1: gone" in dbg.skip_sample(1).trial
        with pytest.raises(BadValueError, match="samples 0 to 2"):
            dbg.skip_sample(3)


def test_a_sample_of_a_batch_encoding_can_be_left_out():
    from transformers import BatchEncoding

    torch.manual_seed(0)
    model = torch.nn.Linear(2, 1)

    def step(batch):
        (model(batch["x"]).exp() / batch["count"]).mean().backward()

    counts = torch.tensor([[1.0], [0.0], [2.0]])
    feed = [BatchEncoding({"x": torch.ones(3, 2), "count": counts})]
    with ftlab.debug(step, feed, model=model) as dbg:
        dbg.run()
        assert "without sample 1: gone" in dbg.skip_sample(1).trial
        assert len(feed[0]["count"]) == 3


def test_an_overflow_of_float16_is_gone_in_float32():
    weight = torch.nn.Parameter(torch.ones(4, dtype=torch.float16))
    model = torch.nn.Module()
    model.weight = weight

    def step(batch):
        (model.weight * batch).mul(300).div(1e4).sum().backward()

    feed = [torch.full((4,), 300.0, dtype=torch.float16)]
    with ftlab.debug(step, feed, model=model) as dbg:
        assert dbg.run().op == "aten.mul.Tensor"
        # The result of one operation has to fit into float16 again.
        assert "still" in dbg.in_float32().trial
        assert "gone" in dbg.replace("aten.mul", lambda x, y: x * (y / 100)).trial


def test_a_loss_scale_can_be_tried():
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 1).half()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=0.5)

    def step(batch):
        optimizer.zero_grad()
        loss = (model(batch).float() * 3e4).sum()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    feed = [torch.full((4, 2), 8.0, dtype=torch.float16)]
    dbg = ftlab.debug(step, feed, model=model, optimizer=optimizer)
    with dbg:
        dbg.run()
        assert "gone" in dbg.with_loss_scale(2.0**-6).trial
        assert scaler.get_scale() == 0.5
        with pytest.raises(BadValueError, match="above 0"):
            dbg.with_loss_scale(0)


def test_a_patch_that_fails_is_told_and_the_run_stays_paused():
    with debugging(Setup()) as dbg:
        dbg.run()
        assert "failed with KeyError" in dbg.patch(lambda _: {}["gone"]).trial
        assert "must return a tensor of the same shape" in dbg.patch(lambda _: 1).trial
        assert dbg.state == "paused"
        assert finished(dbg)


def test_what_cannot_be_tried_is_refused():
    with debugging(Setup()) as dbg:
        with pytest.raises(NotPausedError, match=r"call run\(\)"):
            dbg.patch(lambda x: x)
        dbg.run()
        with pytest.raises(BadValueError, match="nothing was tried"):
            dbg.resume(with_patch=True)
        with pytest.raises(BadValueError, match="no such operation"):
            dbg.replace("aten.lgamma", lambda x: x)
        dbg.step(count=10_000)
        with pytest.raises(NotPausedError, match="not at an operation"):
            dbg.patch(lambda x: x)


def test_a_taken_patch_that_does_not_mend_is_judged_anew():
    setup = Setup()
    with debugging(setup) as dbg:
        found = dbg.run()
        dbg.patch(lambda x: x * 2)
        again = dbg.resume(with_patch=True)
        assert (again.state, again.reason) == ("paused", "anomaly")
        assert (again.step, again.op) == (found.step, found.op)
        dbg.abort()
    assert all(bool(w.isfinite().all()) for w in setup.weights().values())


def test_a_patch_behind_a_backward_meets_its_operation_in_the_real_run():
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(batch):
        optimizer.zero_grad()
        model(batch).sum().backward()
        (model(batch) * 0 + batch).log().mean().backward()
        optimizer.step()

    feed = [torch.tensor([[0.0, 1.0]])]
    with ftlab.debug(step, feed, model=model, optimizer=optimizer) as dbg:
        dbg.run()
        assert "gone" in dbg.replace("aten.log", lambda x: (x + 1).log()).trial
        assert dbg.resume(with_patch=True).state == "finished"
    assert bool(model.weight.isfinite().all())


DIVISORS = torch.tensor([[1.0], [0.0], [2.0]])


def divides_by_zero(optimizer: Any = None) -> Any:
    """Return a debugger of a step that divides, and its model."""
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 1)
    adam = torch.optim.Adam(model.parameters(), foreach=False) if optimizer else None

    def step(batch):
        (model(batch).exp().log().exp() / DIVISORS).mean().backward()
        if adam is not None:
            adam.step()

    return ftlab.debug(step, [torch.ones(3, 2)], model=model, optimizer=adam), model


def test_what_replaces_an_operation_may_compute_others_too():
    """The derivative of log divides as well, and is not that of what is replaced."""
    dbg, model = divides_by_zero()
    seen = []

    def mended(n):
        return torch.where(n == 0, 1.0, n)

    def division(x, n):
        seen.append(n is DIVISORS)
        return x / mended(n)

    with dbg:
        dbg.run()
        tried = dbg.replace("aten.div.Tensor", division)
        assert "2 x aten.div.Tensor replaced: gone" in tried.trial
        assert seen == [True, False]
        assert dbg.resume(with_patch=True).state == "finished"
    assert seen == [True, False] * 2
    found = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    (model(torch.ones(3, 2)).exp().log().exp() / mended(DIVISORS)).mean().backward()
    for gradient, parameter in zip(found, model.parameters(), strict=True):
        torch.testing.assert_close(gradient, parameter.grad)


def test_a_name_without_an_overload_means_all_of_them():
    dbg, _ = divides_by_zero()
    seen = []

    def division(x, n):
        seen.append(type(n))
        return x / (n.clamp(min=1.0) if isinstance(n, torch.Tensor) else n)

    with dbg:
        dbg.run()
        tried = dbg.replace("aten.div", division)
        assert "3 x aten.div (Tensor, Scalar) replaced: gone" in tried.trial
        assert seen == [torch.Tensor, int, torch.Tensor]


def test_a_replacement_ends_where_the_optimizer_begins():
    dbg, model = divides_by_zero(optimizer=True)
    seen = []

    def division(x, n):
        seen.append(n)
        return x * 0

    with dbg:
        dbg.run()
        dbg.replace("aten.div", division)
        seen.clear()
        assert dbg.resume(with_patch=True).state == "finished"
    assert len(seen) == 3, "one in forward, and those of mean and log in backward"
    assert all(bool(p.isfinite().all()) for p in model.parameters())


def test_what_backward_starts_with_is_replaced_and_not_backward_itself():
    dbg, _ = root_of_zero()
    with dbg:
        dbg.run()
        tried = dbg.replace("aten.ones_like", lambda x, **_: torch.ones_like(x) * 2)
        assert "1 x aten.ones_like replaced: still non-finite" in tried.trial
