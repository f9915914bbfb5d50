"""Policy gradients: the loss is about 0, changes its sign, and says nothing.

Answers are drawn from the model itself, and rewards are centred within the group; where
all rewards agree, the loss and every gradient of the step are exactly 0.
"""

from typing import Any

import torch

from ftlab.faults.builders import VOCABULARY, Case, Healthy, lora, plain_case, seeded

GROUP = 8


def build() -> Case:
    """Build LoRA that is rewarded for words of the lower half."""
    model = lora(target_modules="all-linear")
    dice = seeded()

    def loss_of(batch: Any) -> torch.Tensor:
        ids = batch["input_ids"][:1, :4].repeat(GROUP, 1)
        shares = model(input_ids=ids).logits[:, -1].log_softmax(-1)
        words = torch.multinomial(shares.detach().exp(), 1, generator=dice)
        rewards = (words < VOCABULARY // 2).float()
        centred = (rewards - rewards.mean()) / (rewards.std() + 1e-4)
        ratio = (shares.gather(1, words) - shares.gather(1, words).detach()).exp()
        return -(ratio * centred).mean()

    return plain_case(model, lr=2e-3, loss_of=loss_of)


HEALTHY = Healthy(
    "a loss of about 0 at every step, and steps without any gradient",
    looks_like=("GRD002", "GRD003", "GRD001", "NUM001"),
)
