"""What a GradScaler of a CUDA device does, as the rules about it see it."""

import pytest
import torch

import ftlab
from ftlab.faults.builders.tiny import adamw, batches, lora, rows_of, trainable

pytestmark = pytest.mark.gpu

ABOUT = {f"NUM{number:03}" for number in range(4, 12)} | {"GRD011"}


def codes(watch):
    return {each.code for each in watch.findings} & ABOUT


def on_cuda(model, *, clip=False, unscale=True, micro=1, steps=20):
    model = model.cuda()
    optimizer = adamw(model)
    scaler = torch.amp.GradScaler("cuda", init_scale=2.0**20)
    data = [{k: v.cuda() for k, v in batch.items()} for batch in batches(8)]
    with ftlab.watch(model, optimizer, scaler=scaler) as watch:
        for step in range(steps):
            optimizer.zero_grad()
            for part in range(micro):
                with torch.autocast("cuda", dtype=torch.float16):
                    loss = model(**data[(step + part) % 8]).loss / micro
                scaler.scale(loss).backward()
            if unscale:
                scaler.unscale_(optimizer)
            if clip:
                torch.nn.utils.clip_grad_norm_(trainable(model), 0.1)
            scaler.step(optimizer)
            scaler.update()
    return watch


@pytest.mark.parametrize("micro", [1, 2])
def test_a_sound_loop_is_quiet(micro):
    assert codes(on_cuda(lora(), clip=True, micro=micro)) == set()


def test_clipping_before_unscale_is_found():
    assert codes(on_cuda(lora(), clip=True, unscale=False)) == {"GRD011"}


def test_a_trainer_in_fp16_is_quiet(tmp_path):
    from transformers import Trainer, TrainingArguments

    options = TrainingArguments(
        str(tmp_path),
        fp16=True,
        max_steps=20,
        per_device_train_batch_size=4,
        gradient_accumulation_steps=2,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
    )
    trainer = Trainer(lora(), options, train_dataset=rows_of(batches(16)))
    with ftlab.watch(trainer) as watch:
        trainer.train()
    assert codes(watch) == set()
    assert bool(watch.run.steps.known("loss_scale").all())


def test_one_context_of_autocast_over_the_loop_is_found():
    model = lora().cuda()
    optimizer = adamw(model, lr=1e-2)
    data = [{k: v.cuda() for k, v in batch.items()} for batch in batches(4)]
    with (
        ftlab.watch(model, optimizer) as watch,
        torch.autocast("cuda", dtype=torch.bfloat16),
    ):
        for batch in data:
            optimizer.zero_grad()
            model(**batch).loss.backward()
            optimizer.step()
    assert codes(watch) == {"NUM010"}
