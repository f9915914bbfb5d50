"""EXP018, cached-decoding: decoding with a cache is the argmax without one.

## What must hold
At each place, greedy decoding with a cache, from a left-padded batch, chooses the token
that the logits of the whole row rank first.

## Why
Positions that count padding, a cache that a checkpointed or adapted layer does not
fill, or a mask that is not carried on makes the model generate worse than it can.

## When it does not apply
Models without a cache, and batches without token ids.

## What to try
Left-pad for generation, and pass attention_mask to ``generate``.

## References
- transformers, "KV cache strategies"
"""

from typing import Any

import torch

from ftlab.executions.pairs import evaluating
from ftlab.executions.side import NotApplicableError, undisturbed
from ftlab.executions.stations import ends_of, innermost
from ftlab.experiments.experiment import Experiment
from ftlab.experiments.live import Live
from ftlab.records.finding import Place
from ftlab.records.outcome import Outcome

TOKENS = 6
"""Tokens that are decoded."""
NEAR = 0.05
"""Difference of two logits, over their spread, below which rounding may choose."""


class CachedDecoding(Experiment):
    """Tokens decoded with a cache, and the argmax without."""

    code = "EXP018"
    name = "cached-decoding"
    relation = "greedy decoding with cache and left padding is the argmax without"
    cause = "The cache, its mask or its positions are not those of the whole row."
    fix = "Left-pad for generation, pass attention_mask, and use the model's own cache."

    def run(self, live: Live) -> Outcome:
        """Decode two prompts of different length."""
        model, ids = live.model, live.ids()
        if not hasattr(innermost(model), "generate"):
            msg = f"{type(model).__name__} has no generate()"
            raise NotApplicableError(msg)
        if live.has_encoder():
            msg = "it decodes from an encoder's output, not from a prompt"
            raise NotApplicableError(msg)
        prompts = [row for row in _rows(live) if len(row) > 1][:2]
        if not prompts:
            msg = "no row has two tokens"
            raise NotApplicableError(msg)
        ends = ends_of(model)
        prompts[-1] = prompts[-1][: max(2, len(prompts[-1]) // 2)]
        with (
            undisturbed(live.side()),
            evaluating(model),
            torch.no_grad(),
            live.autocast(),
        ):
            made, mask = _generated(model, prompts)
            for row, prompt in enumerate(prompts):
                new = _until_end(made[row, mask.shape[1] :], ends)
                whole = torch.cat((prompt.to(ids.device), new.to(ids.device)))[None]
                # from the end: prompt tuning puts tokens of its own in front
                logits = model(input_ids=whole).logits[0, -len(new) - 1 : -1].float()
                at = _first_other(logits, new)
                if at >= 0:
                    return self._broken(row, at, int(new[at]), int(logits[at].argmax()))
        return self.outcome(
            "holds", f"tokens after {len(prompts)} prompts are the same"
        )

    def _broken(self, row: int, at: int, one: int, other: int) -> Outcome:
        return self.outcome(
            "broken",
            f"token {at + 1} of prompt {row} is {one} with cache, {other} without",
            places=(Place("call", "generate"),),
            evidence={"token": at + 1, "with cache": one, "without": other},
        )


def _rows(live: Live) -> list[torch.Tensor]:
    mask = live.batch.get("attention_mask")
    ids = live.ids()
    if not isinstance(mask, torch.Tensor) or mask.shape != ids.shape:
        return list(ids)
    return [row[real != 0] for row, real in zip(ids, mask, strict=True)]


def _generated(
    model: Any, prompts: list[torch.Tensor]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the tokens of left-padded prompts and what follows, and the mask."""
    length = max(len(prompt) for prompt in prompts)
    device = prompts[0].device
    padded = torch.zeros(len(prompts), length, dtype=torch.long, device=device)
    mask = torch.zeros_like(padded)
    for row, prompt in enumerate(prompts):
        padded[row, length - len(prompt) :] = prompt
        mask[row, length - len(prompt) :] = 1
    made = model.generate(
        input_ids=padded,
        attention_mask=mask,
        max_new_tokens=TOKENS,
        do_sample=False,
        num_beams=1,
        use_cache=True,
        pad_token_id=0,
    )
    return made, mask


def _until_end(tokens: torch.Tensor, ends: set[int]) -> torch.Tensor:
    """Leave out what follows an end: padding."""
    found = [at for at, token in enumerate(tokens.tolist()) if token in ends]
    return tokens[: found[0] + 1] if found else tokens


def _first_other(logits: torch.Tensor, chosen: torch.Tensor) -> int:
    """Return the first place where another token is clearly the likeliest."""
    for at, token in enumerate(chosen.tolist()):
        best = logits[at].max()
        if float(best - logits[at, token]) > NEAR * float(logits[at].std()):
            return at
    return -1
