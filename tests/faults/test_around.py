"""Loops in which users do something of their own."""

import pytest
import torch

from ftlab.faults.builders.around import at, every, loop_with, updated_by
from ftlab.faults.builders.loops import plain_case
from ftlab.faults.builders.tiny import adamw, batches, llama


def test_what_is_done_around_the_steps_comes_in_its_place():
    model, seen = llama(), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer.register_step_post_hook(lambda *_: seen.append("step"))
    before = at(1, lambda: seen.append("before"))
    after = every(2, lambda: seen.append("after"))
    loop_with(model, optimizer, batches(), before=before, after=after).run(3)
    assert seen == ["step", "before", "step", "after", "step"]


def test_nothing_around_the_steps_changes_nothing():
    model = llama()
    case = loop_with(model, adamw(model), batches())
    assert case.run(3) == plain_case(llama()).run(3)


def test_an_update_of_ones_own_has_gradients_and_cleared_ones_before():
    model, (batch,) = llama(), batches(1)
    optimizer, norms = torch.optim.SGD(model.parameters(), lr=0.0), []

    def update() -> None:
        norms.append(model.lm_head.weight.grad.norm().item())

    updated_by(update, model, optimizer, rows=[batch]).run(2)
    assert norms[0] > 0
    assert norms[1] == pytest.approx(norms[0])


def test_the_loss_is_cast_and_scaled_where_asked_for():
    model, (batch,) = llama(), batches(1)
    optimizer, found = torch.optim.SGD(model.parameters(), lr=0.0), []
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)

    def update() -> None:
        found.append(model.lm_head.weight.grad.norm().item())

    updated_by(update, model, optimizer, rows=[batch]).run(1)
    dtype = torch.bfloat16
    case = updated_by(
        update, model, optimizer, rows=[batch], dtype=dtype, scaler=scaler
    )
    case.run(1)
    assert found[1] == pytest.approx(8 * found[0], rel=0.05)
    assert found[1] != 8 * found[0]
