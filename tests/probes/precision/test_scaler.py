"""Gradients under a GradScaler, against a loop without one."""

import itertools

import pytest
import torch

from tests.models import batches, tiny_lora
from tests.probes.recording import Recording, true_norms

CASES = list(itertools.product((False, True), repeat=4))


def make(fused: bool, scale: float = 1024.0):
    model = tiny_lora()
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-2, fused=fused)
    return model, optimizer, torch.amp.GradScaler("cpu", init_scale=scale)


def expected_norms(model, batch):
    """Backward without any scaler, and one norm after the other."""
    model(**batch).loss.backward()
    norms = true_norms(model)
    model.zero_grad()
    return norms


@pytest.mark.parametrize(("fused", "unscale", "clip", "overflow"), CASES)
def test_gradients_are_read_in_true_scale(fused, unscale, clip, overflow):
    model, optimizer, scaler = make(fused)
    batch = next(batches(1))
    expected = expected_norms(model, batch)
    weights = [p.detach().clone() for p in model.parameters()]
    with Recording(model, optimizer) as recording:
        loss = model(**batch).loss
        scaler.scale(loss).backward()
        if overflow:
            spoiled = next(p for p in model.parameters() if p.grad is not None)
            spoiled.grad.view(-1)[0] = torch.inf
            recording.recorder._loop.step.versions = []  # not a change to be reported
        if unscale:
            scaler.unscale_(optimizer)
        if clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.01)
        scaler.step(optimizer)
        scaler.update()
    (step,) = recording.steps
    found = recording.column(0)
    assert step.loss == pytest.approx(loss.item(), rel=1e-6)
    assert step.loss_scale == 1024.0
    finite = {n: v for n, v in expected.items() if n in found and found[n] < torch.inf}
    assert len(finite) == len(expected) - overflow
    for name, norm in finite.items():
        assert found[name] == pytest.approx(norm, rel=1e-4, abs=1e-9), name
    # Clipping an infinite norm makes NaN of the gradient that has it, torch's own
    # check has run before; clipping *before* unscaling hides nothing from us either.
    moved = any(
        not torch.equal(before, after)
        for before, after in zip(weights, model.parameters(), strict=True)
    )
    assert step.skipped == (not moved)
    assert step.skipped == overflow
    assert ("skip" in recording.ops(0)) == overflow
    assert ("step" in recording.ops(0)) == (not overflow)
    if overflow:
        assert step.grad_norm == torch.inf


def test_a_skipped_step_is_counted_and_followed_by_another():
    model, optimizer, scaler = make(False, scale=2.0**127)
    with Recording(model, optimizer) as recording:
        for batch in batches(8):
            optimizer.zero_grad()
            scaler.scale(model(**batch).loss).backward()
            scaler.step(optimizer)
            scaler.update()
    skipped = [step.skipped for step in recording.steps]
    assert [step.step for step in recording.steps] == list(range(8))
    assert skipped[0]
    scales = [step.loss_scale for step in recording.steps]
    assert [b / a for a, b in itertools.pairwise(scales)] == [
        0.5 if skip else 1.0 for skip in skipped[:-1]
    ]
    assert all(each is not None for each in recording.losses)


def test_a_scaler_that_was_not_handed_over_is_adopted():
    model, optimizer, scaler = make(False)
    with Recording(model) as recording:
        scaler.scale(model(**next(batches(1))).loss).backward()
        scaler.step(optimizer)
        scaler.update()
    assert recording.subject.scaler is scaler
    assert recording.ops(0) == [
        "forward",
        "backward",
        "unscale",
        "step",
        "scaler_update",
    ]
    assert recording.ledger(0)[-1].detail == {"scale": 1024.0}


def two_optimizers(model):
    trained = [p for p in model.parameters() if p.requires_grad]
    return (torch.optim.SGD(part, lr=0.1) for part in (trained[:6], trained[6:]))


def test_two_optimizers_are_each_read_in_true_scale():
    model, _, scaler = make(False)
    batch = next(batches(1))
    expected = expected_norms(model, batch)
    first, second = two_optimizers(model)
    with Recording(model, first, second) as recording:
        scaler.scale(model(**batch).loss).backward()
        for optimizer in (first, second):  # the second is still scaled at the first
            scaler.step(optimizer)
        scaler.update()
    assert len(recording.steps) == 1
    assert recording.column(0) == pytest.approx(expected, rel=1e-4, abs=1e-9)


def test_gradients_clipped_while_scaled_are_noted():
    model, optimizer, scaler = make(False)
    with Recording(model, optimizer) as recording:
        scaler.scale(model(**next(batches(1))).loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    (clip,) = [entry for entry in recording.ledger(0) if entry.op == "clip"]
    assert clip.detail["scaled"] is True
    assert clip.detail["total_norm"] == pytest.approx(
        1024 * recording.steps[0].grad_norm, rel=1e-5
    )


def test_a_disabled_scaler_leaves_no_trace():
    model, optimizer, _ = make(False)
    scaler = torch.amp.GradScaler("cpu", enabled=False)
    with Recording(model, optimizer) as recording:
        scaler.scale(model(**next(batches(1))).loss).backward()
        scaler.step(optimizer)
        scaler.update()
    assert recording.ops(0) == ["forward", "backward", "step"]
    assert recording.steps[0].loss_scale is None


def test_the_ledger_tells_which_losses_were_scaled_and_who_stepped():
    model, optimizer, scaler = make(False)
    with Recording(model, optimizer) as recording:
        for times, batch in enumerate(batches(2)):
            loss = model(**batch).loss
            scaled = scaler.scale(loss)
            (scaled if times else loss).backward()
            if times:
                scaler.step(optimizer)
                scaler.update()
    told = {e.op: e.detail for e in recording.ledger(0) if e.op in ("step", "unscale")}
    assert told["step"]["scaler"] is True
    assert told["unscale"] == {"by_step": True}
    back = [e.detail["scaled"] for e in recording.ledger(0) if e.op == "backward"]
    assert back == [0, 1]


def test_a_clipping_of_what_is_still_scaled_is_told_of_each_optimizer():
    model, _, scaler = make(False)
    first, second = two_optimizers(model)
    with Recording(model, first, second) as recording:
        scaler.scale(model(**next(batches(1))).loss).backward()
        scaler.unscale_(first)
        for optimizer in (first, second):
            torch.nn.utils.clip_grad_norm_(optimizer.param_groups[0]["params"], 1.0)
        for optimizer in (first, second):
            scaler.step(optimizer)
        scaler.update()
    clips = [entry for entry in recording.ledger(0) if entry.op == "clip"]
    assert [entry.detail["scaled"] for entry in clips] == [False, True]


def test_each_update_of_the_scale_is_kept_and_what_steps_after_it_is_marked():
    model, _, scaler = make(False)
    scaler.set_growth_interval(1)
    first, second = two_optimizers(model)
    with Recording(model, first, second) as recording:
        scaler.scale(model(**next(batches(1))).loss).backward()
        for optimizer in (first, second):
            scaler.step(optimizer)
            scaler.update()
    ledger = recording.ledger(0)
    scales = [e.detail["scale"] for e in ledger if e.op == "scaler_update"]
    assert scales == [2048.0, 4096.0]
    marks = ["rescaled" in e.detail for e in ledger if e.op == "step"]
    assert marks == [False, True]


def test_an_optimizer_with_a_scaler_or_a_backward_of_its_own_is_not_marked():
    model, _, scaler = make(False)
    own = torch.amp.GradScaler("cpu", init_scale=1024.0)
    first, second = two_optimizers(model)
    with Recording(model, first, second) as recording:
        for of_second in (scaler, own):
            for optimizer, each in ((first, scaler), (second, of_second)):
                each.scale(model(**next(batches(1))).loss).backward()
                each.step(optimizer)
                each.update()
        both = scaler.scale(model(**next(batches(1))).loss)
        (both + own.scale(model(**next(batches(1))).loss)).backward()
        for optimizer, each in ((first, scaler), (second, own)):
            each.step(optimizer)
            each.update()
    steps = [
        entry
        for step in range(len(recording.steps))
        for entry in recording.ledger(step)
        if entry.op == "step"
    ]
    assert len(steps) == 6
    assert not any("rescaled" in entry.detail for entry in steps)


def test_a_backward_after_the_update_of_the_scale_has_the_new_one():
    model, optimizer, scaler = make(False)
    with Recording(model, optimizer) as recording:
        scaler.scale(model(**next(batches(1))).loss).backward()
        scaler.unscale_(optimizer)  # SAM looks ahead along this gradient
        scaler.update()
        optimizer.zero_grad()
        scaler.scale(model(**next(batches(1))).loss).backward()
        scaler.step(optimizer)
        scaler.update()
    assert len(recording.steps) == 1
    (step,) = [entry for entry in recording.ledger(0) if entry.op == "step"]
    assert "rescaled" not in step.detail


def test_numbers_the_scalers_that_were_stepped_with():
    model, optimizer, _ = make(False)
    with Recording(model, optimizer) as recording:
        for number, batch in enumerate(batches(4)):
            if number != 2:
                scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
            scaler.scale(model(**batch).loss).backward()
            scaler.step(optimizer)
            scaler.update()
    assert [s.values["scaler"] for s in recording.steps] == [0, 1, 1, 2]
