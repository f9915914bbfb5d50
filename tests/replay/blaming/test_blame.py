"""What a step owes to each sample agrees with that sample alone."""

from typing import Any

import numpy as np
import pytest
import torch

import ftlab
from ftlab.replay.blaming.blame import NO_BACKWARD, TWICE
from tests.replay.one_by_one import AT, alone, interrupted, normaliser, plain, uneven
from tests.session.scenarios import Loop, dropout, feed, seed, trainer


@pytest.mark.parametrize(
    ("options", "tolerance"),
    [
        ({}, 1e-4),
        ({"bf16": True}, 0.05),
        ({"scale": 1024.0}, 1e-4),
        ({"checkpointing": False}, 1e-4),
        ({"checkpointing": True}, 1e-4),
    ],
    ids=["plain", "bf16", "scaler", "checkpointing", "reentrant"],
)
def test_it_agrees_with_each_sample_alone(
    options: dict[str, Any], tolerance: float
) -> None:
    loop, batches = plain(**options), uneven()
    with interrupted(loop, batches) as dbg:
        assert dbg.run().reason == "interrupt"
        found = dbg.blame()
        bf16 = options.get("bf16", False)
        losses, norms = alone(loop.model, batches[AT], bf16=bf16)
        np.testing.assert_allclose(found.losses, losses, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(found.gradients, norms, rtol=tolerance)
        grads = [p.grad for p in loop.model.parameters() if p.grad is not None]
        whole = sum(float(g.norm()) ** 2 for g in grads) ** 0.5
        assert found.summary.gradient == pytest.approx(whole, rel=1e-6)
        assert found.summary.shared == pytest.approx(0, abs=1e-9)
        assert found.summary.notes == ()


def test_it_agrees_within_an_accumulating_trainer() -> None:
    seed()
    built = trainer(gradient_accumulation_steps=2, max_steps=4)
    for module in built.model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    step, calls = built.training_step, []

    def training_step(*args: Any, **kwargs: Any) -> Any:
        calls.append(args)
        if len(calls) == 4:  # the second micro-batch of the second step
            dbg.interrupt()
        return step(*args, **kwargs)

    built.training_step = training_step
    with ftlab.debug(built) as dbg:
        report = dbg.run()
        assert (report.step, report.micro_batch) == (1, 1)
        found = dbg.blame()
        assert dbg.where.micro_batch == 1
        batch = dict(dbg.batch)
        losses, _ = alone(built.model, batch)
        np.testing.assert_allclose(found.losses, losses, rtol=1e-4, atol=1e-4)
        _, norms = alone(built.model, batch)
        # Two equal micro-batches share one normaliser.
        share = normaliser(batch) / 2
        np.testing.assert_allclose(found.gradients, norms * share, rtol=1e-4)


def test_the_planted_sample_and_tokens_come_first() -> None:
    batches = feed()
    batches[AT]["labels"] = batches[AT]["labels"].clone()
    loop = plain()
    unlikely = torch.zeros(128)
    unlikely[77] = -20.0
    head = loop.model.get_output_embeddings()
    hook = head.register_forward_hook(lambda *call: call[-1] + unlikely)
    batches[AT]["labels"][3, 5:9] = 77
    seen = []

    def decode(ids: list[int]) -> str:
        seen.append(ids)
        return " ".join(f"t{i}" for i in ids)

    tokenizer = type("Tokenizer", (), {"decode": staticmethod(decode)})()
    with interrupted(loop, batches, tokenizer=tokenizer) as dbg:
        dbg.run()
        found = dbg.blame()
        worst = found.summary.samples[0]
        assert (worst.sample, worst.start, worst.stop) == (3, 5, 9)
        assert worst.text == "t77 t77 t77 t77"
        assert "sample 3" in repr(found).splitlines()[1]
        assert found.table()["sample"][0] == 3
    hook.remove()


def test_random_masks_of_dropout_are_those_of_the_step() -> None:
    loop = dropout()
    with interrupted(loop, feed()) as dbg:
        dbg.run()
        found = dbg.blame()
        grads = [p.grad for p in loop.model.parameters() if p.grad is not None]
        clipped = sum(float(g.norm()) ** 2 for g in grads) ** 0.5
        assert min(found.summary.gradient, 0.5) == pytest.approx(clipped, rel=1e-4)


def test_samples_of_several_micro_batches_in_one_step_are_told_apart() -> None:
    loop, batches = plain(), feed(6)

    def step(pair: list[dict[str, torch.Tensor]]) -> torch.Tensor:
        for batch in pair:
            (loop.model(**batch).loss / 2).backward()
        loop.optimizer.step()
        loop.optimizer.zero_grad()
        return torch.zeros(())

    pairs = [batches[i : i + 2] for i in (0, 2, 4)]
    with interrupted(Loop(loop.model, loop.optimizer, step), pairs) as dbg:
        dbg.run()
        found = dbg.blame()
        norms = [alone(loop.model, batch)[1] / 2 for batch in pairs[AT]]
        np.testing.assert_allclose(found.gradients, np.concatenate(norms), rtol=1e-4)


def test_a_gradient_of_several_backwards_is_left_out() -> None:
    loop = plain()

    def step(batch: dict[str, torch.Tensor]) -> torch.Tensor:
        for _ in range(2):
            loop.model(**batch).loss.backward()
        return torch.zeros(())

    with interrupted(Loop(loop.model, loop.optimizer, step), feed()) as dbg:
        dbg.run()
        found = dbg.blame()
        assert np.isnan(found.gradients).all()
        assert TWICE in found.summary.notes


def test_without_backward_there_are_losses_only() -> None:
    loop = plain()
    trained = [p for p in loop.model.parameters() if p.requires_grad]

    def step(batch: dict[str, torch.Tensor]) -> torch.Tensor:
        loss = loop.model(**batch).loss
        torch.autograd.grad(loss, trained)
        return loss.detach()

    with interrupted(Loop(loop.model, loop.optimizer, step), feed()) as dbg:
        dbg.run()
        found = dbg.blame()
        losses, _ = alone(loop.model, feed()[AT])
        np.testing.assert_allclose(found.losses, losses, rtol=1e-4, atol=1e-4)
        assert np.isnan(found.gradients).all()
        assert found.summary.notes == (NO_BACKWARD,)


def test_a_penalty_on_weights_belongs_to_no_token() -> None:
    loop = plain()
    trained = [p for p in loop.model.parameters() if p.requires_grad]

    def step(batch: dict[str, torch.Tensor]) -> torch.Tensor:
        loop.optimizer.zero_grad()
        penalty = sum(p.square().sum() for p in trained)
        loss = loop.model(**batch).loss + penalty
        loss.backward()
        loop.optimizer.step()
        return loss.detach()

    with interrupted(Loop(loop.model, loop.optimizer, step), uneven()) as dbg:
        dbg.run()
        found = dbg.blame()
        norm = sum(float(p.detach().norm()) ** 2 for p in trained) ** 0.5
        assert found.summary.shared == pytest.approx(2 * norm, rel=1e-5)
        _, norms = alone(loop.model, uneven()[AT])
        np.testing.assert_allclose(found.gradients, norms, rtol=1e-3)
        assert "belongs to no token" in repr(found)


def test_it_shows_the_sample_that_is_not_finite() -> None:
    loop = plain()

    def step(batch: dict[str, torch.Tensor]) -> torch.Tensor:
        loop.optimizer.zero_grad()
        logits = loop.model(input_ids=batch["input_ids"]).logits[:, :-1]
        scale = torch.ones(4, 15, 1)
        scale[1, 6] = float("nan")
        labels = batch["input_ids"][:, 1:]
        loss = torch.nn.functional.cross_entropy(
            (logits * scale).flatten(0, 1), labels.flatten()
        )
        loss.backward()
        return loss.detach()

    with ftlab.debug(step, feed(), model=loop.model) as dbg:
        assert dbg.run().reason == "anomaly"
        worst = dbg.blame().summary.samples[0]
        assert (worst.sample, worst.start, worst.stop) == (1, 7, 8)
        assert dbg.where.reason == "anomaly"


def test_losses_picked_from_logits_count_too() -> None:
    loop = plain()

    def step(batch: dict[str, torch.Tensor]) -> torch.Tensor:
        logits = loop.model(input_ids=batch["input_ids"]).logits[:, :-1]
        index = batch["input_ids"][:, 1:].unsqueeze(-1)
        picked = logits.gather(-1, index).squeeze(-1)
        sums = torch.stack([torch.logsumexp(row, dim=-1) for row in logits])
        loss = (sums - picked).mean()
        loss.backward()
        return loss.detach()

    with interrupted(Loop(loop.model, loop.optimizer, step), feed()) as dbg:
        dbg.run()
        found = dbg.blame()
        losses, norms = alone(loop.model, feed()[AT])
        np.testing.assert_allclose(found.losses, losses, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(found.gradients, norms, rtol=1e-3)
