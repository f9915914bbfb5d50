"""A prompt is trained on the answers alone, by a loss outside of the model.

Most positions have no target; those that have one stand at the end of the rows.
"""

from typing import Any

import torch
from torch.nn.functional import cross_entropy

from ftlab.faults.builders import VOCABULARY, Case, Healthy, base, plain_case

QUESTION = 10
"""Tokens that are not learnt."""


def build() -> Case:
    """Build P-tuning with smoothed labels and a small term that spreads the logits."""
    from peft import PromptEncoderConfig, get_peft_model

    config = PromptEncoderConfig(
        num_virtual_tokens=4, encoder_hidden_size=32, task_type="CAUSAL_LM"
    )
    model = get_peft_model(base(), config)

    def loss_of(batch: Any) -> torch.Tensor:
        logits = model(input_ids=batch["input_ids"]).logits[:, -6 - 1 : -1]
        wanted = batch["input_ids"][:, QUESTION:].reshape(-1)
        flat = logits.reshape(-1, VOCABULARY)
        spread = 1e-4 * logits.logsumexp(-1).square().mean()
        return cross_entropy(flat, wanted, label_smoothing=0.1) + spread

    return plain_case(model, lr=1e-2, loss_of=loss_of)


HEALTHY = Healthy(
    "there are more logits than tokens, and few of them have a target",
    looks_like=("ADP049", "GRD003", "GRD001", "ADP001"),
    steps=60,
)
