import math

import pytest
import torch

import ftlab
from ftlab.records.errors import BadValueError
from tests.models import batches, tiny_lora, update
from tests.replay.blaming.preference import dpo_trainer
from tests.replay.one_by_one import normaliser
from tests.session.probing import once
from tests.session.scenarios import LOOPS, feed, seed, sft_trainer


class Words:
    """A tokenizer that says its ids."""

    def decode(self, ids):
        return " ".join(f"t{i}" for i in ids)


def watched(folder, keep=3, **settings):
    model = tiny_lora().train()
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=0.1)
    watch = ftlab.watch(
        model, optimizer, run_dir=folder / "run", highest_losses=keep, **settings
    )
    return watch, model, optimizer


def test_keeps_the_highest_of_all_samples(tmp_path):
    watch, model, optimizer = watched(tmp_path, tokenizer=Words())
    every = []
    with watch:
        for step, batch in enumerate(batches(6)):
            batch["labels"] = batch["labels"].clone()
            batch["labels"][2, :5] = -100
            logits = model(**batch).logits[:, :-1].detach()
            for sample in range(4):
                labels = batch["labels"][sample, 1:]
                loss = torch.nn.functional.cross_entropy(logits[sample], labels)
                every.append((float(loss), step, sample, int((labels >= 0).sum())))
            update(model(**batch).loss, optimizer)
    table = watch.highest_losses.table()
    best = sorted(every, reverse=True)[:3]
    for (loss, step, sample, count), row in zip(
        best, table.head(3).itertuples(), strict=True
    ):
        assert (row.step, row.sample, row.tokens) == (step, sample, count)
        assert row.loss == pytest.approx(loss, rel=1e-5)
    assert table["text"][0].startswith("t")
    assert len(table) <= 6
    assert len([e for e in watch.run.events if e.kind == "sample"]) < len(every)


def test_a_planted_sample_is_named_with_its_beginning(tmp_path):
    watch, model, optimizer = watched(tmp_path, tokenizer=Words())
    with watch:
        for index, batch in enumerate(batches(12)):
            if index == 9:
                planted = batch["input_ids"][1].tolist()
                batch["labels"] = batch["labels"].clone()
                batch["labels"][1] = model(**batch).logits[1].argmin(-1).roll(1)
            update(model(**batch).loss, optimizer)
    worst = watch.highest_losses.summary[0]
    assert (worst.step, worst.sample) == (9, 1)
    assert worst.text == " ".join(f"t{i}" for i in planted)
    assert worst.above > 0
    assert "step 9, micro-batch 0, sample 1" in repr(watch.highest_losses)
    recorded = ftlab.open_run(tmp_path / "run").highest_losses
    assert recorded.table().equals(watch.highest_losses.table())


def test_micro_batches_are_told_apart(tmp_path):
    watch, model, optimizer = watched(tmp_path, keep=20)
    with watch:
        for batch in batches(3, size=2):
            (model(**batch).loss / 3).backward()
        optimizer.step()
    table = watch.highest_losses.table()
    places = sorted(zip(table["micro_batch"], table["sample"], strict=True))
    assert places == [(m, s) for m in range(3) for s in range(2)]


def test_padding_on_the_left_is_no_beginning(tmp_path):
    watch, model, optimizer = watched(tmp_path)
    batch = next(batches(1, size=1))
    batch["attention_mask"] = torch.ones_like(batch["input_ids"])
    batch["attention_mask"][0, :12] = 0
    with watch:
        model(**batch).loss.backward()
        optimizer.step()
    (told,) = [e for e in watch.run.events if e.kind == "sample"]
    ids = told.detail["ids"]
    assert ids == batch["input_ids"][0, 12:].tolist()


def test_a_loss_that_is_not_finite_comes_first(tmp_path):
    watch, model, optimizer = watched(tmp_path)
    with watch:
        for index, batch in enumerate(batches(5)):
            logits = model(input_ids=batch["input_ids"]).logits[:, :-1]
            scale = torch.ones(4, 1, 1)
            scale[2] = math.nan if index == 4 else 1.0
            targets = batch["input_ids"][:, 1:].flatten()
            losses = (logits * scale).flatten(0, 1)
            torch.nn.functional.cross_entropy(losses, targets).backward()
            optimizer.zero_grad()
            optimizer.step()
    worst = watch.highest_losses.summary[0]
    assert (worst.step, worst.sample) == (4, 2)
    assert math.isnan(worst.loss)


def test_sft_is_seen_and_preferences_are_left(tmp_path):
    for name, built, rows in (("sft", sft_trainer(), 12), ("dpo", dpo_trainer(), 0)):
        with ftlab.watch(built, run_dir=tmp_path / name, highest_losses=50) as watch:
            built.train()
        assert len(watch.highest_losses.table()) == rows
        logged = [row["loss"] for row in built.state.log_history if "loss" in row]
        if rows:
            mean = watch.highest_losses.table()["loss"].mean()
            # Each row has 16 tokens, all of them labels.
            share = normaliser({"labels": torch.zeros(1, 16)})
            assert mean * share == pytest.approx(logged[0], rel=1e-3)


@pytest.mark.parametrize("name", ["grad_scaler", "autocast", "checkpointing"])
def test_losses_are_in_true_size(name, tmp_path):
    seed()
    loop = LOOPS[name]()
    with ftlab.watch(
        loop.model,
        loop.optimizer,
        scaler=loop.scaler,
        run_dir=tmp_path / "run",
        highest_losses=50,
    ) as watch:
        losses = [float(loop.step(batch)) for batch in feed(3)]
    means = watch.highest_losses.table().groupby("step")["loss"].mean()
    assert means.tolist() == pytest.approx(losses, rel=1e-3)


def test_nothing_is_kept_unless_asked_for(tmp_path):
    watch, model, optimizer = watched(tmp_path, keep=0)
    with watch:
        once(model, optimizer)
    assert watch.run.events == [] or all(e.kind != "sample" for e in watch.run.events)
    assert "highest_losses=20" in repr(watch.highest_losses)
    with pytest.raises(BadValueError, match="at least 1"):
        ftlab.watch(model, optimizer, highest_losses=-1)
