"""Anomalies of the user's own loss, outside of all modules."""

import torch

from benchmarks.anomalies import tiny
from benchmarks.anomalies.case import Batch, Live, plant
from benchmarks.anomalies.loops import loop


def logits_and_targets(model: torch.nn.Module, batch: Batch) -> list[torch.Tensor]:
    """Return logits and the tokens that they are to predict."""
    logits = model(input_ids=batch["input_ids"]).logits[:, :-1].float()
    return [logits, batch["input_ids"][:, 1:]]


def token_losses(model: torch.nn.Module, batch: Batch) -> torch.Tensor:
    """Return the loss of each token, as ``[batch, time]``."""
    logits, targets = logits_and_targets(model, batch)
    return torch.nn.functional.cross_entropy(
        logits.transpose(1, 2), targets, reduction="none"
    )


def with_entry(seed: int, name: str, good: object, bad: object, at: int) -> list[Batch]:
    """Return batches with one more entry, which is ``bad`` in batch ``at``."""
    made = tiny.text(seed)
    for index, batch in enumerate(made):
        batch[name] = bad if index == at else good
    return made


@plant("aten.div.Tensor", step=1)
def zero_over_zero(seed: int, healthy: bool) -> Live:
    """Normalise scores that are all zero: 0 / 0."""
    model = tiny.llama(seed)
    floor = 0.0 if healthy else 1.0

    def loss_of(batch: Batch) -> torch.Tensor:
        losses = token_losses(model, batch)
        scores = (batch["quality"] - floor).relu()
        share = scores / scores.sum()  # <- born here
        return (losses.mean(1) * share).sum()

    good, bad = torch.tensor([2.0, 3.0]), torch.tensor([0.5, 1.0])
    return loop(model, with_entry(seed, "quality", good, bad, 1), loss_of)


@plant("aten.div.Tensor", step=2, uses="lora dropout")
def zero_token_count(seed: int, healthy: bool) -> Live:
    """Divide by the number of answer tokens, of which one batch has none."""
    model = tiny.lora(tiny.llama(seed, attention_dropout=0.1), lora_dropout=0.2)

    def loss_of(batch: Batch) -> torch.Tensor:
        losses, answer = token_losses(model, batch), batch["answer"]
        return (losses * answer).sum() / answer.sum()  # <- born here

    good = torch.ones(2, tiny.LENGTH - 1)
    bad = good if healthy else torch.zeros_like(good)
    return loop(model, with_entry(seed, "answer", good, bad, 2), loss_of)


@plant("aten.log.default", step=1)
def log_of_zero(seed: int, healthy: bool) -> Live:
    """Take the logarithm of a probability that has underflown to zero."""
    model = tiny.llama(seed)

    def loss_of(batch: Batch) -> torch.Tensor:
        logits, targets = logits_and_targets(model, batch)
        chances = (logits / batch["temperature"]).softmax(-1)
        picked = chances.gather(-1, targets[..., None])
        return -picked.log().mean()  # <- born here

    cold = 1.0 if healthy else 1e-6
    return loop(model, with_entry(seed, "temperature", 1.0, cold, 1), loss_of)


@plant("aten.exp.default", step=2)
def exp_overflow(seed: int, healthy: bool) -> Live:
    """Take exp of a reward that is too large."""
    model = tiny.llama(seed)

    def loss_of(batch: Batch) -> torch.Tensor:
        weight = batch["reward"].exp()  # <- born here
        return (token_losses(model, batch).mean(1) * weight).mean()

    good = torch.tensor([0.1, 0.2])
    bad = good if healthy else torch.tensor([0.1, 90.0])
    return loop(model, with_entry(seed, "reward", good, bad, 2), loss_of)


@plant("aten.log.default", step=1)
def label_outside_the_vocabulary(seed: int, healthy: bool) -> Live:
    """Compare labels with the vocabulary: one that is not in it has probability 0."""
    model = tiny.llama(seed)
    words = torch.arange(tiny.VOCABULARY)

    def loss_of(batch: Batch) -> torch.Tensor:
        chances = model(input_ids=batch["input_ids"]).logits.softmax(-1)
        hit = batch["labels"][..., None] == words
        return -(chances * hit).sum(-1).log().mean()  # <- born here

    made = tiny.text(seed)
    if not healthy:
        made[1]["labels"][0, 3] = tiny.VOCABULARY + 5
    return loop(model, made, loss_of)


@plant("aten.mul.Tensor")
def infinity_times_zero_in_a_mask(seed: int, healthy: bool) -> Live:
    """Make an additive mask as (1 - keep) * -inf: NaN wherever keep is 1."""
    model = tiny.llama(seed)
    lowest = -1e4 if healthy else float("-inf")

    def loss_of(batch: Batch) -> torch.Tensor:
        losses = token_losses(model, batch)
        keep = batch["attention_mask"][:, 1:].float()
        bias = (1.0 - keep) * lowest  # <- born here
        return (losses * (losses.detach() + bias).softmax(-1)).sum()

    return loop(model, tiny.text(seed), loss_of)


@plant("aten._softmax.default", step=2)
def row_without_a_key(seed: int, healthy: bool) -> Live:
    """Let a row of an own attention see no key at all: softmax of -inf alone."""
    model = tiny.llama(seed)

    def loss_of(batch: Batch) -> torch.Tensor:
        losses = token_losses(model, batch)
        hidden = losses.masked_fill(~batch["visible"], float("-inf"))
        return (hidden.softmax(-1) * losses).sum()  # <- born here

    good = torch.ones(2, tiny.LENGTH - 1, dtype=torch.bool)
    bad = good.clone()
    bad[1] = healthy
    return loop(model, with_entry(seed, "visible", good, bad, 2), loss_of)


@plant("aten.sub.Tensor", step=2, uses="autocast-bf16")
def softmax_by_hand(seed: int, healthy: bool) -> Live:
    """Subtract the largest of a row that is -inf everywhere: -inf - -inf."""
    model = tiny.llama(seed)

    def loss_of(batch: Batch) -> torch.Tensor:
        losses = token_losses(model, batch)
        scores = losses.masked_fill(~batch["visible"], float("-inf"))
        powers = (scores - scores.amax(-1, keepdim=True)).exp()  # <- born here
        return (powers / powers.sum(-1, keepdim=True)).mean() + losses.mean()

    good = torch.ones(2, tiny.LENGTH - 1, dtype=torch.bool)
    bad = good.clone()
    bad[0] = healthy
    made = with_entry(seed, "visible", good, bad, 2)
    return loop(model, made, loss_of, autocast=torch.bfloat16)


@plant("aten.log.default", uses="autocast-bf16")
def entropy_of_a_certain_model(seed: int, healthy: bool) -> Live:
    """Compute p log p with a p of zero."""
    model = tiny.llama(seed)
    if not healthy:
        tiny.grow(model.lm_head.weight, 1e5)

    def loss_of(batch: Batch) -> torch.Tensor:
        chances = model(input_ids=batch["input_ids"]).logits.float().softmax(-1)
        return -(chances * chances.log()).sum(-1).mean()  # <- born here

    return loop(model, tiny.text(seed), loss_of, autocast=torch.bfloat16)


@plant("aten.log.default", step=1, uses="autocast-bf16")
def one_minus_p_in_bf16(seed: int, healthy: bool) -> Live:
    """Take log(1 - p) in bfloat16, where 1 - 0.001 is 1."""
    model = tiny.llama(seed)

    def loss_of(batch: Batch) -> torch.Tensor:
        logits = model(input_ids=batch["input_ids"]).logits.mean((1, 2))
        chance = (logits.bfloat16() + batch["prior"]).sigmoid()
        return -(1 - chance).log().mean()  # <- born here

    good = torch.tensor([0.0, 0.5], dtype=torch.bfloat16)
    bad = good if healthy else torch.tensor([0.0, 9.0], dtype=torch.bfloat16)
    made = with_entry(seed, "prior", good, bad, 1)
    return loop(model, made, loss_of, autocast=torch.bfloat16)


@plant("aten.mean.default", step=1)
def mean_of_nothing(seed: int, healthy: bool) -> Live:
    """Average the losses above a threshold that none is above."""
    model = tiny.llama(seed)

    def loss_of(batch: Batch) -> torch.Tensor:
        losses = token_losses(model, batch)
        return losses[losses > batch["threshold"]].mean()  # <- born here

    bad = 0.0 if healthy else 100.0
    return loop(model, with_entry(seed, "threshold", 0.0, bad, 1), loss_of)


@plant(frozenset({"aten.std.correction", "aten.std.dim"}), step=2)
def spread_of_one_sample(seed: int, healthy: bool) -> Live:
    """Whiten over a last batch that has one sample only."""
    model = tiny.llama(seed)

    def loss_of(batch: Batch) -> torch.Tensor:
        losses = token_losses(model, batch).mean(1)
        spread = losses.detach().std(0)  # <- born here
        return (losses / (spread + 1)).mean()

    made = tiny.text(seed)
    made[2:] = tiny.text(seed + 1, 1, 2 if healthy else 1)
    return loop(model, made, loss_of)


@plant("aten.div.Tensor", step=1)
def zero_norm_in_a_contrastive_loss(seed: int, healthy: bool) -> Live:
    """Divide an anchor by its norm, which is zero."""
    model = tiny.llama(seed)

    def loss_of(batch: Batch) -> torch.Tensor:
        found = model(input_ids=batch["input_ids"]).logits.mean(1)
        anchor = batch["anchor"]
        unit = anchor / anchor.norm(dim=-1, keepdim=True)  # <- born here
        return (found - unit).square().mean()

    good = torch.ones(2, tiny.VOCABULARY)
    bad = good.clone()
    bad[1] = float(healthy)
    return loop(model, with_entry(seed, "anchor", good, bad, 1), loss_of)


@plant("aten._to_copy.default", step=2)
def cast_to_fp16(seed: int, healthy: bool) -> Live:
    """Cast a regression target to float16 that ends before it."""
    model = tiny.llama(seed)

    def loss_of(batch: Batch) -> torch.Tensor:
        target = batch["price"].half()  # <- born here
        found = model(input_ids=batch["input_ids"]).logits.mean((1, 2))
        return (found - target).abs().mean()

    good = torch.tensor([10.0, 20.0])
    bad = good if healthy else torch.tensor([10.0, 70000.0])
    return loop(model, with_entry(seed, "price", good, bad, 2), loss_of)


@plant("aten.atanh.default", step=1)
def fisher_transform_of_one(seed: int, healthy: bool) -> Live:
    """Transform a correlation of exactly 1."""
    model = tiny.llama(seed)

    def loss_of(batch: Batch) -> torch.Tensor:
        score = batch["correlation"].atanh()  # <- born here
        return token_losses(model, batch).mean() * score.mean()

    good = torch.tensor([0.5, 0.9])
    bad = good if healthy else torch.tensor([0.5, 1.0])
    return loop(model, with_entry(seed, "correlation", good, bad, 1), loss_of)
