"""Blame agrees with one backward for each sample alone, and leaves no trace."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import ftlab
from ftlab.records.errors import NotPausedError, NotReplayableError
from ftlab.session.debugger import Debugger
from tests.models import tiny_llama, tiny_lora
from tests.session.scenarios import (
    LOOPS,
    TRAINERS,
    Loop,
    autocast,
    dropout,
    feed,
    one_thread,
    seed,
    state_of,
    trainer,
)

AT = 2
"""The step at which the runs below are interrupted; LoRA has left zero by then."""


@pytest.fixture(autouse=True)
def _single_thread():
    with one_thread():
        yield


def plain(*, checkpointing: bool | None = None, bf16: bool = False) -> Loop:
    """A loop without dropout; ``checkpointing`` says whether reentrant."""
    base = tiny_llama()
    if checkpointing is not None:
        base.gradient_checkpointing_enable({"use_reentrant": checkpointing})
        base.enable_input_require_grads()
    model = tiny_lora(base).train()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])

    def step(batch: dict[str, torch.Tensor]) -> torch.Tensor:
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        return loss.detach()

    return Loop(model, optimizer, step)


def uneven() -> list[dict[str, torch.Tensor]]:
    """Batches whose samples have different numbers of labels."""
    batches = feed()
    for batch in batches:
        batch["labels"] = batch["labels"].clone()
        batch["labels"][0, :9] = -100
        batch["labels"][2, 12:] = -100
    return batches


def alone(
    model: torch.nn.Module, batch: dict[str, torch.Tensor], *, bf16: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Compute losses and gradient norms with batches of one sample each."""
    model = copy.deepcopy(model)
    trained = [p for p in model.parameters() if p.requires_grad]
    count = int((batch["labels"][:, 1:] != -100).sum())
    losses, norms = [], []
    for index in range(len(batch["labels"])):
        one = {name: value[index : index + 1] for name, value in batch.items()}
        labels = one.pop("labels")
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            logits = model(**one).logits[0, :-1].float()
        logs = logits.log_softmax(-1)
        target = labels[0, 1:]
        row = -logs[torch.arange(len(target)), target.clamp(min=0)]
        row = row.where(target != -100, torch.nan)
        for parameter in trained:
            parameter.grad = None
        (row.nansum() / count).backward()
        norms.append(sum(float(p.grad.float().norm()) ** 2 for p in trained) ** 0.5)
        losses.append([np.nan, *row.tolist()])
    return np.array(losses), np.array(norms)


def interrupted(
    loop: Loop, batches: list[Any], at: int = AT, **options: Any
) -> Debugger:
    """Make a debugger whose run stops at the end of step ``at``."""
    seen = []

    def step(batch: Any) -> torch.Tensor:
        seen.append(batch)
        if len(seen) == at + 1:
            dbg.interrupt()
        return loop.step(batch)

    dbg = ftlab.debug(
        step, batches, model=loop.model, optimizer=loop.optimizer, **options
    )
    return dbg


@pytest.mark.parametrize(
    ("options", "tolerance"),
    [
        ({}, 1e-4),
        ({"bf16": True}, 0.05),
        ({"checkpointing": False}, 1e-4),
        ({"checkpointing": True}, 1e-4),
    ],
    ids=["plain", "bf16", "checkpointing", "reentrant"],
)
def test_it_agrees_with_each_sample_alone(
    options: dict[str, bool], tolerance: float
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
        np.testing.assert_allclose(found.gradients, norms / 2, rtol=1e-4)


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


def bare(make: Callable[[], Loop]) -> dict[str, Any]:
    seed()
    loop = make()
    seed()
    losses = [loop.step(batch).item() for batch in feed()]
    return state_of(loop.model, loop.optimizer, losses)


def blamed(make: Callable[[], Loop]) -> dict[str, Any]:
    """Blame at the end of a micro-batch, and at operations of both directions."""
    seed()
    loop = make()
    seed()
    with interrupted(loop, feed(), at=3) as dbg:
        dbg.run()
        before = repr(dbg.where)
        first = dbg.blame()
        assert repr(dbg.where) == before
        middle = dbg.back(count=40)
        assert middle.phase == "backward"
        assert repr(dbg.blame()) == repr(first)
        assert dbg.where.site == middle.site
        dbg.back("module", 9)
        dbg.blame()
        assert dbg.resume().state == "finished"
        losses = [loss.item() for loss in dbg.result]
    return state_of(loop.model, loop.optimizer, losses)


REPEATABLE = [name for name in LOOPS if name != "accumulation"]


@pytest.mark.parametrize("name", REPEATABLE)
def test_a_run_is_bit_equal_through_blame(name: str) -> None:
    assert blamed(LOOPS[name]) == bare(LOOPS[name])


@pytest.mark.parametrize("name", TRAINERS)
def test_a_trainer_is_bit_equal_through_blame(name: str) -> None:
    def run(drive: Callable[[Any], Any]) -> dict[str, Any]:
        seed()
        built = trainer(**TRAINERS[name])
        seed()
        drive(built)
        losses = [row["loss"] for row in built.state.log_history if "loss" in row]
        return state_of(built.model, built.optimizer, losses)

    def looking(built: Any) -> None:
        step, calls = built.training_step, []

        def training_step(*args: Any, **kwargs: Any) -> Any:
            calls.append(args)
            if len(calls) == 2:
                dbg.interrupt()
            return step(*args, **kwargs)

        built.training_step = training_step
        with ftlab.debug(built) as dbg:
            assert dbg.run().reason == "interrupt"
            assert not np.isnan(dbg.blame().gradients).any()
            assert dbg.resume().state == "finished"

    assert run(looking) == run(lambda built: built.train())


def test_random_masks_of_dropout_are_those_of_the_step() -> None:
    loop = dropout()
    with interrupted(loop, feed()) as dbg:
        dbg.run()
        found = dbg.blame()
        grads = [p.grad for p in loop.model.parameters() if p.grad is not None]
        clipped = sum(float(g.norm()) ** 2 for g in grads) ** 0.5
        assert min(found.summary.gradient, 0.5) == pytest.approx(clipped, rel=1e-4)


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


def test_a_step_without_token_losses_is_refused_by_name() -> None:
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(batch: torch.Tensor) -> torch.Tensor:
        loss = model(batch).square().sum()
        loss.backward()
        return loss.detach()

    batches = [torch.ones(3, 2) for _ in range(4)]
    with interrupted(Loop(model, optimizer, step), batches) as dbg:
        dbg.run()
        with pytest.raises(NotReplayableError, match="no loss over tokens"):
            dbg.blame()
        assert dbg.resume().state == "finished"


def test_a_run_that_is_not_paused_is_refused() -> None:
    loop = autocast()
    with interrupted(loop, feed()) as dbg, pytest.raises(NotPausedError, match="new"):
        dbg.blame()
