"""Layer optimizer: what it holds, and its learning rate over the whole schedule."""

import pytest
import torch

from ftlab.session.preflight.preflight import preflight
from tests.session.preflight.objects import item_of, lora_loop

RATE = "the learning rate is above 0"


def test_a_healthy_optimizer_passes():
    given = lora_loop()
    assert item_of("it holds what is trainable", **given).says == (
        "AdamW holds 12 tensors in 1 group, all that is trainable"
    )
    assert item_of(RATE, **given).says == "0.001 at the first step"


def test_without_an_optimizer_nothing_is_claimed_of_it():
    checklist = preflight(**lora_loop() | {"optimizer": None})
    (item,) = checklist["optimizer"]
    assert (item.status, item.fix) == (
        "not checked",
        "preflight(..., optimizer=optimizer)",
    )
    assert "numerics" not in {each.layer for each in checklist.failed}


def test_trainable_tensors_without_an_optimizer_are_told_by_the_rule():
    given = lora_loop()
    left = given["model"].get_output_embeddings().weight.requires_grad_()
    codes = {item.code for item in preflight(**given)["optimizer"]}
    assert left.requires_grad
    assert "OPT002" in codes


def test_a_rate_of_zero_fails():
    given = lora_loop()
    given["optimizer"].param_groups[0]["lr"] = 0.0
    item = item_of(RATE, **given)
    assert item.status == "failed"
    assert str(item.places[0]) == "optimizer lr"


def test_an_optimizer_that_chooses_its_own_rate_passes():
    from transformers import Adafactor

    given = lora_loop()
    trained = [p for p in given["model"].parameters() if p.requires_grad]
    given["optimizer"] = Adafactor(trained, relative_step=True)
    assert item_of(RATE, **given).status == "passed"


def schedule(given, factor):
    kind = torch.optim.lr_scheduler.LambdaLR
    return {"scheduler": kind(given["optimizer"], factor)}


@pytest.mark.parametrize(
    ("factor", "status"),
    [(lambda step: step / 50, "passed"), (lambda step: 0.0 * step, "failed")],
    ids=["warm-up", "nothing"],
)
def test_a_schedule_is_asked_for_the_steps_to_come(factor, status):
    given = lora_loop()
    given |= schedule(given, factor) | {"args": {"max_steps": 40}}
    item = item_of(RATE, **given)
    assert item.status == status
    if status == "passed":
        assert item.says == "0 at the first step, at most 0.00078 over 40 steps"


def test_a_warm_up_of_unknown_length_is_not_judged():
    given = lora_loop()
    given |= schedule(given, lambda step: max(0, step - 5) / 50)
    assert item_of(RATE, **given).status == "not checked"


def scheduled(model, optimizer, scheduler, *, first):
    """Return a loop's body that steps its schedule before the optimizer, or after."""

    def step(batch):
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        for each in (scheduler, optimizer) if first else (optimizer, scheduler):
            each.step()
        return loss

    return step


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.filterwarnings("ignore:Detected call of .lr_scheduler")
def test_a_schedule_that_is_stepped_first_is_found_before_the_run(first):
    given = lora_loop()
    scheduler = torch.optim.lr_scheduler.LinearLR(given["optimizer"], total_iters=9)
    step = scheduled(given["model"], given["optimizer"], scheduler, first=first)
    checklist = preflight(**given, scheduler=scheduler, step=step)
    assert ("OPT003" in {item.code for item in checklist.failed}) is first
    assert scheduler.last_epoch == 0


def test_a_warm_up_that_was_not_handed_over_is_not_judged():
    given = lora_loop()
    schedule(given, lambda step: step / 50)
    item = item_of(RATE, **given)
    assert item.status == "not checked"
    assert item.says == (
        "it is 0 now; a schedule that was not passed starts from 0.001"
    )
