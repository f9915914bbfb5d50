"""The whole of preflight: on trainers, on loops, on the gallery's faults."""

import gc
import weakref

import pytest
import torch

import ftlab
from ftlab.faults.registry import load
from ftlab.records.checklist import LAYERS
from ftlab.session.preflight import looking
from tests.models import Rows, batches, tiny_lora, update
from tests.session.preflight.objects import lora_loop
from tests.session.scenarios import sft_trainer, trainer

FOUND = {
    "inference-mode-config": "ADP010",
    "detach-breaks-graph": "GRD003",
    "reentrant-checkpoint-embeds": "GRD003",
    "optimizer-before-peft": "OPT002",
    "optimizer-stale-params": "OPT001",
    "nan-log-zero": "NUM001",
    "bf16-update-underflow": "NUM002",
}
"""Faults that two steps prove, and the rule that says so."""


def flown(case):
    return ftlab.preflight(
        case.model,
        optimizer=case.optimizer,
        scheduler=case.scheduler,
        scaler=case.scaler,
        step=case.step,
        batches=list(case.batches),
    )


@pytest.mark.parametrize("name", FOUND)
def test_a_fault_is_found_before_the_run(name):
    checklist = flown(load(name).build(fixed=False))
    assert FOUND[name] in {item.code for item in checklist.failed}


@pytest.mark.parametrize("name", FOUND)
def test_its_healthy_twin_passes(name):
    failed = flown(load(name).build(fixed=True)).failed
    assert {item.layer for item in failed} <= {"logging", "rollback"}


def dense_loop(*, whole=True):
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def step(batch):
        loss = torch.nn.functional.cross_entropy(model(batch["x"]), batch["y"])
        if whole:
            update(loss, optimizer)
        return loss

    rows = [{"x": torch.randn(8, 4), "y": torch.arange(8) % 2} for _ in range(2)]
    return ftlab.preflight(model, optimizer=optimizer, step=step, batches=rows)


def test_rules_about_tokens_say_nothing_of_a_model_without_tokens():
    assert "input_ids" not in str(dense_loop())


def test_a_step_without_an_optimizer_step_is_told_as_that():
    words = str(dense_loop(whole=False))
    assert "optimizer.step()" in words
    assert "batches=loader" not in words


@pytest.mark.parametrize("make", [trainer, sft_trainer])
def test_a_trainer_is_checked_in_all_layers(make):
    checklist = ftlab.preflight(make())
    assert {item.layer for item in checklist} == set(LAYERS)
    assert checklist.ok
    assert checklist["numerics"][-1].status == "passed"


def test_what_a_trainer_cannot_prepare_is_a_failed_item():
    class Broken(type(trainer())):
        def create_optimizer(self, *args):
            msg = "no such optimizer"
            raise ValueError(msg)

    each = trainer()
    each.__class__ = Broken
    item = ftlab.preflight(each).failed[0]
    assert item.says == "preparation raised ValueError: no such optimizer"


def test_a_trainer_that_asks_for_rewards_is_not_tried():
    each = trainer()
    each.reward_funcs = [len]
    items = ftlab.preflight(each)["numerics"]
    words = "generates text and calls your reward functions"
    assert any(words in item.says for item in items)
    assert {item.status for item in items} <= {"not checked", "passed"}


def test_no_step_is_made_where_it_could_not_be_undone(monkeypatch):
    monkeypatch.setattr(looking, "free_memory", lambda _: 1000)
    given = lora_loop()
    version = given["model"].get_input_embeddings().weight._version
    checklist = ftlab.preflight(**given)
    (item,) = [i for i in checklist if i.name == "dry steps are finite"]
    assert item.status == "not checked"
    assert "but 9.31e-07 GiB are free" in item.says
    assert given["model"].get_input_embeddings().weight._version == version


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_steps_train_among_evaluation_too(mode):
    given = lora_loop()
    with mode():
        checklist = ftlab.preflight(**given)
        assert not torch.is_grad_enabled()
    assert checklist.ok
    assert checklist["numerics"][-1].status == "passed"


def test_a_step_of_ones_own_is_tried_as_it_is():
    given, seen = lora_loop(), []

    def step(batch):
        seen.append(batch["input_ids"].shape)
        loss = given["model"](**batch).loss
        update(loss, given["optimizer"])
        return loss.item()

    assert ftlab.preflight(**given, step=step)["numerics"][-1].status == "passed"
    assert seen == [(4, 16), (4, 16)]


def test_a_step_that_empties_its_batch_does_not_blind_the_other_layers():
    given = lora_loop() | {"batches": torch.utils.data.DataLoader(Rows(8), 4)}

    def step(batch):
        loss = given["model"](**batch).loss
        batch.clear()
        loss.backward()
        given["optimizer"].step()
        return loss

    items = ftlab.preflight(**given, step=step)["data"]
    assert "labels to learn from" in {item.name for item in items}


def test_an_adapters_folder_is_compared_with_the_model(tmp_path):
    tiny_lora(r=8).save_pretrained(tmp_path)
    checklist = ftlab.preflight(**lora_loop(), adapter=tmp_path)
    assert any(item.code.startswith("ADP02") for item in checklist.failed)


def test_a_check_that_fails_itself_is_told_and_ends_nothing(monkeypatch):
    def broken(seen):
        raise RuntimeError("odd object")
        yield

    monkeypatch.setitem(looking.CHECKS, "device", broken)
    checklist = ftlab.preflight(**lora_loop())
    assert checklist["device"][0].says == (
        "the check itself failed with RuntimeError: odd object"
    )
    assert checklist["rollback"]


def test_warnings_are_left_for_the_training(recwarn):
    import warnings

    given = lora_loop()

    def step(batch):
        warnings.warn("mind the gap", stacklevel=1)
        return given["model"](**batch).loss

    ftlab.preflight(**given, step=step)
    assert not [each for each in recwarn if "mind the gap" in str(each.message)]


def test_nothing_of_the_model_is_kept_alive():
    given = lora_loop()
    model = weakref.ref(given["model"])
    checklist = ftlab.preflight(**given)
    del given
    gc.collect()
    assert model() is None
    assert len(checklist) > 10


def test_its_text_is_the_same_each_time():
    texts = {repr(ftlab.preflight(**lora_loop())) for _ in range(2)}
    assert len(texts) == 1


def test_several_optimizers_and_a_scaler_are_used():
    model = tiny_lora()
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizers = [
        torch.optim.SGD(trained[::2], 0.1),
        torch.optim.SGD(trained[1::2], 0.1),
    ]
    scaler = torch.amp.GradScaler("cpu")
    checklist = ftlab.preflight(
        model, optimizer=optimizers, scaler=scaler, batches=list(batches(2))
    )
    assert checklist.ok
    assert scaler.get_scale() == 2.0**16
