"""A term against repetition is subtracted where it should be added.

Unlikelihood training lowers the probability of tokens that were there before. With the
sign turned it raises them: the loss falls below 0, and each answer is a few tokens,
again and again.

Fix: ``loss + weight * unlikelihood``.
Source: seed; Welleck et al. 2020, arXiv:1908.04319.
"""

import torch

from ftlab.faults.builders.talks import next_token, talking
from ftlab.faults.fault import Case, Fault

WEIGHT = 5.0


def unlikelihood(logits: torch.Tensor, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """Return the mean over tokens of -log(1 - p) of all that stood before them."""
    ids, real = batch["input_ids"], batch["attention_mask"][:, 1:].float()
    shares = logits[:, :-1].softmax(-1)
    before = torch.nn.functional.one_hot(ids, shares.shape[-1]).cumsum(1)[:, :-1]
    others = before.clamp(max=1).float().scatter(2, ids[:, 1:, None], 0.0)
    terms = -(others * (1 - shares).clamp(min=1e-3).log()).sum(-1)
    return (terms * real).sum() / real.sum()


def build(fixed: bool) -> Case:
    """Build a model that can answer, and train it on with the term."""
    sign = 1.0 if fixed else -1.0

    def loss_of(logits: torch.Tensor, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        term = sign * WEIGHT * unlikelihood(logits, batch)
        return next_token(logits, batch) + term

    return talking(loss_of)


FAULT = Fault(
    "the model says the same words again and again",
    code="MOD028",
    places=("sample *",),
    steps=41,
    evident=24,
    families=("llama",),
    also=("MOD027",),
)
