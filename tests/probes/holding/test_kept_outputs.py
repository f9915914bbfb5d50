"""Outputs that outlive their step are named; it is looked at few steps only."""

import pytest
import torch

import ftlab
from tests.models import batches, tiny_lora, update


def told(tmp_path, loop):
    model = tiny_lora()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
    with ftlab.watch(model, optimizer, run_dir=tmp_path / "run") as watch:
        loop(model, optimizer, list(batches(14)))
        hooks = len(model._forward_hooks)
        return [each for each in watch.findings if each.code == "MEM002"], hooks


def step(model, optimizer, batch):
    outputs = model(**batch)
    update(outputs.loss, optimizer)
    return outputs


def kept(model, optimizer, rows):
    for batch in rows:
        logits = step(model, optimizer, batch).logits
    assert logits is not None


def let_go(model, optimizer, rows):
    for batch in rows:
        step(model, optimizer, batch)


def kept_now_and_then(model, optimizer, rows):
    for at, batch in enumerate(rows):
        outputs = step(model, optimizer, batch)
        if at % 2:
            del outputs


def test_the_name_that_keeps_them_is_told(tmp_path):
    (finding,), hooks = told(tmp_path, kept)
    assert finding.places[0].name.endswith("kept().logits")
    assert finding.evidence["bytes"] == 4 * 16 * 128 * 4
    assert finding.fix.startswith("Let go of `")
    assert hooks == 0


def after_a_rollout(model, optimizer, rows):
    for batch in rows:
        with torch.no_grad():
            logits = model(**batch).logits  # of this very step
        assert logits.isfinite().all()
        step(model, optimizer, batch)
        del logits


@pytest.mark.parametrize("loop", [let_go, kept_now_and_then, after_a_rollout])
def test_what_is_let_go_is_not_told(tmp_path, loop):
    assert told(tmp_path, loop)[0] == []
