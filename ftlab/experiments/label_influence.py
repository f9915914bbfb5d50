"""EXP006, label-influence: what is masked teaches nothing, and the rest does.

## What must hold
A padding token or a later token does not change what a token predicts; a prediction
whose label is -100 has no part in the loss; one that has a label does.

## Why
A causal mask that is lost lets the model read its answer. Labels on padding or on the
prompt teach what nobody asked for, and an answer that is masked teaches nothing; the
loss falls in each of these cases.

## When it does not apply
Batches without labels by token. Models that read in both directions by design
(encoders) are not asked about later tokens.

## What to try
Build labels from the same ids as the input, with -100 on prompt and padding.

## References
- transformers, "Causal language modeling"
"""

from collections.abc import Iterator, Mapping
from typing import Any

import torch

from ftlab.executions.distance import EXACT, apart, size
from ftlab.executions.pairs import evaluating
from ftlab.executions.side import NotApplicableError, start_again, undisturbed
from ftlab.executions.wide import Wide
from ftlab.experiments.experiment import Experiment
from ftlab.experiments.live import Live
from ftlab.records.finding import Place
from ftlab.records.outcome import Outcome


class LabelInfluence(Experiment):
    """One token or label changed at a time."""

    code = "EXP006"
    name = "label-influence"
    cheap = True
    relation = "padding, later tokens and masked labels change nothing; labels do"
    cause = "Attention or the loss reads what it must not, or leaves out what it must."
    fix = (
        "Check the causal mask and attention_mask, and that labels are -100 exactly on "
        "what is not to be learnt."
    )

    def run(self, live: Live) -> Outcome:
        """Change tokens, and look at the loss's gradient by prediction."""
        live.refuse_others()
        with undisturbed(live.side()) as start, evaluating(live.model):
            start_again(live.side(), start)
            wrong = [*_tokens(live), *_labels(live)]
        if not wrong:
            return self.outcome("holds", "nothing moves that must not")
        return self.outcome(
            "broken",
            wrong[0],
            places=(Place("data", "labels" if "label" in wrong[0] else "attention"),),
            evidence={"relations broken": len(wrong)},
        )


def _tokens(live: Live) -> Iterator[str]:
    ids = live.ids()
    mask = live.batch.get("attention_mask")
    real = torch.ones_like(ids, dtype=torch.bool)
    if isinstance(mask, torch.Tensor) and mask.shape == ids.shape:
        real = mask != 0
    with Wide():
        before = live.logits(live.batch)
        if not bool(real.all()):
            moved = _moved(live, ~real)
            changed = (_apart(before, live.logits(moved)) > EXACT) & real.cpu()
            if bool(changed.any()):
                row, position = changed.nonzero()[0].tolist()
                yield f"padding tokens change row {row}, position {position}"
        last = torch.zeros_like(real)
        rows = real.any(dim=1).nonzero().flatten()
        ends = real.long().cumsum(1).argmax(1)
        last[rows, ends[rows]] = True
        changed = (_apart(before, live.logits(_moved(live, last))) > EXACT) & real.cpu()
        early = changed & ~last.cpu()
        if live.is_causal() and bool(early.any()):
            row, position = early.nonzero()[0].tolist()
            yield f"the last token of row {row} changes position {position} before it"


def _labels(live: Live) -> Iterator[str]:
    labels = live.batch.get("labels")
    if not isinstance(labels, torch.Tensor) or labels.shape != live.ids().shape:
        msg = "the batch has no labels by token"
        raise NotApplicableError(msg)
    gradient = _gradient_of_logits(live)
    if gradient is None or gradient.dim() != 3:
        return
    mask = live.batch.get("attention_mask")
    if isinstance(mask, torch.Tensor) and mask.shape == labels.shape:
        padded = (mask == 0) & (labels != -100)
        if bool(padded.any()):
            row, position = padded.nonzero()[0].tolist()
            yield f"a padding token has a label: row {row}, position {position}"
    parts = gradient.float().abs().sum(-1)[:, :-1] > 0
    trained = (labels[:, 1:] != -100).to(parts.device)
    for wrong, said in (
        (parts & ~trained, "a prediction whose label is -100 has a part in the loss"),
        (~parts & trained, "a label that is not -100 has no part in the loss"),
    ):
        if bool(wrong.any()):
            row, position = wrong.nonzero()[0].tolist()
            yield f"{said}: row {row}, position {position + 1}"


def _gradient_of_logits(live: Live) -> torch.Tensor | None:
    """Return the gradient of the logits that the training's loss is made of."""
    caught: list[torch.Tensor] = []

    def catch(_module: Any, _given: Any, output: Any) -> None:
        logits = getattr(output, "logits", None)
        if isinstance(logits, torch.Tensor) and logits.requires_grad and not caught:
            logits.retain_grad()
            caught.append(logits)

    handle = live.model.register_forward_hook(catch)
    try:
        with torch.enable_grad():
            loss = live.computed()
            if loss.requires_grad and caught:
                loss.backward()
    finally:
        handle.remove()
    return caught[0].grad if caught else None


def _moved(live: Live, where: torch.Tensor) -> Mapping[str, Any]:
    """Return the batch with other tokens in some places."""
    ids = live.ids()
    other = ids.clone()
    other[where] = (ids[where] + 1) % max(int(ids.max()) + 1, 2)
    return {**live.batch, "input_ids": other}


def _apart(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    left, right = a.flatten(0, 1), b.flatten(0, 1)
    share = apart(left, right) / size(left).clamp(min=1e-30)
    return share.reshape(a.shape[:2])
