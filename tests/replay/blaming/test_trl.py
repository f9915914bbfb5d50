"""The losses of TRL's trainers, taken apart, agree with plain logits."""

from importlib.metadata import version
from typing import Any

import numpy as np
import pytest
import torch

from ftlab.replay.blaming.blame import WEIGHED
from ftlab.replay.blaming.pairs import ROLES, SEVERAL
from ftlab.replay.blaming.positions import UNPLACED
from tests.models import tiny_lora
from tests.replay.blaming.preference import dpo_trainer, paused
from tests.replay.one_by_one import alone, normaliser
from tests.session.scenarios import seed, sft_trainer, state_of

BETA = 0.1

old = version("trl").startswith("0.")


def without_dropout(built: Any) -> Any:
    for module in built.model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    return built


def unpatched(built: Any) -> Any:
    """Give the trained weights to a model that TRL has put no head on."""
    model = tiny_lora()
    model.load_state_dict(built.model.state_dict(), strict=False)  # a copy is "ref"
    return model


def test_sft_agrees_with_each_sample_alone() -> None:
    built = without_dropout(sft_trainer())
    with paused(built) as dbg:
        assert dbg.run().reason == "interrupt"
        found, batch = dbg.blame(), dict(dbg.batch)
        losses, norms = alone(unpatched(built), batch)
        np.testing.assert_allclose(found.losses, losses, rtol=1e-4, atol=1e-4)
        # Two equal micro-batches share one normaliser.
        share = normaliser(batch) / 2
        np.testing.assert_allclose(found.gradients, norms * share, rtol=1e-4)
        assert found.summary.notes == ()
        assert "sample 0" in repr(found)
        assert found.summary.samples[0].text.startswith("t")


def test_sft_counts_no_token_without_a_label() -> None:
    built = without_dropout(sft_trainer())
    plain = built.data_collator

    def collate(rows: Any) -> Any:
        batch = plain(rows)
        batch["labels"][0, :9] = -100
        return batch

    built.data_collator = collate
    with paused(built) as dbg:
        dbg.run()
        found, batch = dbg.blame(), dict(dbg.batch)
        assert (found.summary.targets >= 0).sum(axis=1).tolist() == [7, 15]
        losses, _ = alone(unpatched(built), batch)
        np.testing.assert_allclose(found.losses, losses, rtol=1e-4, atol=1e-4)


@pytest.mark.skipif(old, reason="TRL 0 weighs in operations that show no weights")
def test_a_loss_that_weighs_tokens_is_named() -> None:
    built = without_dropout(sft_trainer())
    built.args.loss_type = "dft"
    with paused(built) as dbg:
        dbg.run()
        found = dbg.blame()
        losses, _ = alone(unpatched(built), dict(dbg.batch))
        np.testing.assert_allclose(found.losses, losses, rtol=1e-4, atol=1e-4)
        assert found.summary.notes == (WEIGHED,)


def log_probabilities(model: Any, batch: dict[str, Any]) -> torch.Tensor:
    """Return log p of each token of an answer, by plain logits; 0 elsewhere."""
    inputs = {name: batch[name] for name in ("input_ids", "attention_mask")}
    logs = model(**inputs).logits[:, :-1].float().log_softmax(-1)
    picked = logs.gather(-1, batch["input_ids"][:, 1:, None]).squeeze(-1)
    return picked * batch["completion_mask"][:, 1:]


def joined(batch: dict[str, Any]) -> dict[str, Any]:
    """Put prompts and answers together as TRL 1 has them; TRL 0 keeps them apart."""
    if "input_ids" in batch:
        return batch
    width = max(batch[f"{role}_input_ids"].shape[1] for role in ROLES)
    made: dict[str, Any] = {}
    for name in ("input_ids", "attention_mask"):
        prompt, halves = batch[f"prompt_{name}"], [batch[f"{r}_{name}"] for r in ROLES]
        padded = [
            torch.nn.functional.pad(half, (0, width - half.shape[1])) for half in halves
        ]
        made[name] = torch.cat([torch.cat([prompt, half], 1) for half in padded])
    mask = made["attention_mask"].clone()
    mask[:, : batch["prompt_input_ids"].shape[1]] = 0
    return made | {"completion_mask": mask}


def pair_losses(model: Any, batch: dict[str, Any]) -> tuple[Any, torch.Tensor]:
    own = log_probabilities(model, batch)
    with torch.no_grad(), model.disable_adapter():
        reference = log_probabilities(model, batch)
    chosen, rejected = (own - reference).sum(1).chunk(2)
    return own, -torch.nn.functional.logsigmoid(BETA * (chosen - rejected))


def norms_of(model: Any, losses: torch.Tensor) -> list[float]:
    trained = [p for p in model.parameters() if p.requires_grad]
    norms = []
    for loss in losses / len(losses):
        grads = torch.autograd.grad(loss, trained, retain_graph=True)
        norms.append(sum(float(g.norm()) ** 2 for g in grads) ** 0.5)
    return norms


@pytest.mark.parametrize("precomputed", [False, True])
def test_dpo_agrees_with_each_pair_alone(precomputed: bool) -> None:
    built = dpo_trainer(beta=BETA, precompute_ref_log_probs=precomputed)
    with paused(built) as dbg:
        dbg.run()
        found, batch = dbg.blame(), dict(dbg.batch)
        model = unpatched(built)
        own, losses = pair_losses(model, joined(batch))
        table = found.table().sort_values("sample")
        assert table["role"].tolist() == ["chosen"] * 3 + ["rejected"] * 3
        assert table["pair"].tolist() == [0, 1, 2, 0, 1, 2]
        shown = table["pair_loss"].to_numpy()
        np.testing.assert_allclose(shown[:3], losses.detach(), rtol=1e-4)
        np.testing.assert_allclose(shown[3:], losses.detach(), rtol=1e-4)
        norms = norms_of(model, losses)
        np.testing.assert_allclose(table["pair_gradient"][:3], norms, rtol=1e-3)
        if old:  # whose batch has no row that prompt and answer stand in
            assert found.summary.notes == (UNPLACED,)
            return
        tokens = np.nan_to_num(found.losses)[:, 1:]
        np.testing.assert_allclose(tokens, -own.detach(), atol=1e-4)
        assert found.summary.notes == ()


def test_dpo_says_which_answer_of_which_pair_a_row_is() -> None:
    with paused(dpo_trainer(), at=0) as dbg:
        dbg.run()
        lines = repr(dbg.blame()).splitlines()
        assert "3 pairs" in lines[0]
        assert "mean -log p" in lines[0]
        # The reference is the start: log 2 for every pair.
        assert lines[1].startswith("  pair 0 (loss 0.693, gradient")
        assert ") chosen: -log p" in lines[1]
        assert ") rejected: -log p" in lines[2]


def test_dpo_with_two_losses_says_so() -> None:
    built = dpo_trainer(loss_type=["sigmoid", "bco_pair"], loss_weights=[1.0, 0.5])
    losses, step = [], built.training_step

    def training_step(*args: Any, **kwargs: Any) -> Any:
        loss = step(*args, **kwargs)
        if built.state.global_step == 2 and not losses:
            losses.append(float(loss))
        return loss

    built.training_step = training_step
    with paused(built) as dbg:
        dbg.run()
        found = dbg.blame()
        # TRL 0 adds the losses up before it takes one mean.
        assert (SEVERAL in found.summary.notes) == (not old)
        pairs = found.table().groupby("pair")["pair_loss"].first()
        losses.append(float(pairs.mean()))
        dbg.resume()
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)


@pytest.mark.parametrize("make", [dpo_trainer, sft_trainer])
def test_a_trainer_is_bit_equal_through_blame(make: Any) -> None:
    def run(look: bool) -> dict[str, Any]:
        built = make()
        seed()
        if look:
            with paused(built, at=1) as dbg:
                dbg.run()
                assert not np.isnan(dbg.blame().gradients).any()
                assert dbg.resume().state == "finished"
        else:
            built.train()
        losses = [row["loss"] for row in built.state.log_history if "loss" in row]
        return state_of(built.model, built.optimizer, losses)

    assert run(look=True) == run(look=False)
