"""A loss of one's own takes the first logits of a prompt-tuned model.

There are as many more of them as the prompt has virtual tokens, and those stand in
front: each position is compared with a token that comes a whole prompt later.

Fix: ``logits[:, -labels.shape[1]:]``, or give the labels to the model.
Source: EleutherAI/lm-evaluation-harness#533 (cut at the wrong end in evaluations),
huggingface/trl#490, #3812 (lengths that differ).
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, base, current, plain_case, token_loss


def build(fixed: bool) -> Case:
    """Build prompt tuning with a loss outside of the model."""
    from peft import PromptTuningConfig, get_peft_model

    config = PromptTuningConfig(num_virtual_tokens=6, task_type="CAUSAL_LM")
    model = get_peft_model(base(), config, adapter_name=current().adapter)

    def loss_of(batch: Any) -> torch.Tensor:
        given = {name: batch[name] for name in ("input_ids", "attention_mask")}
        logits, length = model(**given).logits, batch["labels"].shape[1]
        return token_loss(logits[:, -length:] if fixed else logits[:, :length], batch)

    return plain_case(model, lr=3e-2, loss_of=loss_of)


FAULT = Fault(
    "the loss of a prompt stays high, and the model answers with words from later on",
    code="ADP049",
    places=("config num_virtual_tokens",),
    evident=1,
    families=("llama", "gpt2", "neox"),
)
