"""A batch that ends the run is named after it: on the watch and in the log."""

import pytest
import torch

import ftlab
from tests.models import batches, tiny_lora, update
from tests.session.scenarios import trainer


def sick(count, at):
    made = list(batches(count))
    made[at]["input_ids"][1, 2] = 10_000
    return made


def train(model, made):
    trainable = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trainable)
    for batch in made:
        optimizer.zero_grad()
        model(**batch).loss.backward()
        optimizer.step()


def codes(findings):
    return [each.code for each in findings]


@pytest.mark.parametrize("at", [0, 2])
def test_it_is_named_in_a_notebook_whose_cell_has_raised(at, tmp_path):
    model = tiny_lora()
    watch = ftlab.watch(model, run_dir=tmp_path / "run")
    with pytest.raises(IndexError):
        train(model, sick(3, at))
    assert "DAT002" in codes(watch.findings)
    watch.detach()
    findings = ftlab.open_run(tmp_path / "run").findings
    (found,) = [each for each in findings if each.code == "DAT002"]
    assert str(found.place) == "token 2 of sample 1"
    assert found.first_step == at


def test_it_is_named_after_the_block(tmp_path):
    model = tiny_lora()
    run = tmp_path / "run"
    with pytest.raises(IndexError), ftlab.watch(model, run_dir=run) as watch:
        train(model, sick(3, 1))
    assert "DAT002" in codes(watch.findings)


def test_it_is_named_after_a_trainer_has_raised(tmp_path):
    made = trainer()
    batch_of = made.data_collator

    def collate(rows):
        batch = batch_of(rows)
        batch["input_ids"][1, 2] = 10_000
        return batch

    made.data_collator = collate
    watch = ftlab.watch(made, run_dir=tmp_path / "run")
    with pytest.raises(IndexError):
        made.train()
    assert "DAT002" in codes(watch.findings)
    watch.detach()


def test_looking_within_a_step_finds_nothing_in_what_is_right(tmp_path):
    model = tiny_lora()
    with ftlab.watch(model, run_dir=tmp_path / "run") as watch:
        optimizer = torch.optim.AdamW(p for p in model.parameters() if p.requires_grad)
        for batch in batches(2):
            update(model(**batch).loss, optimizer)
            model(**batch)
            assert not [code for code in codes(watch.findings) if "DAT" in code]
