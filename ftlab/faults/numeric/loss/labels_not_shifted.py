"""A loss of one's own compares logits and labels without a shift.

Each position is asked for the token that it has just read. The loss falls to 0 faster
than ever, and the model can only repeat what it is given.

Fix: ``logits[:, :-1]`` against ``labels[:, 1:]``.
Source: huggingface/transformers#10480 (a causal model whose loss does not shift).
"""

import torch

from ftlab.faults.builders import Batch, Case, Fault, lora, plain_case, token_loss


def build(fixed: bool) -> Case:
    """Compare position by position."""
    model = lora()

    def loss_of(batch: Batch) -> torch.Tensor:
        logits = model(input_ids=batch["input_ids"]).logits
        if fixed:
            return token_loss(logits, batch)
        flat = logits.reshape(-1, logits.size(-1))
        return torch.nn.functional.cross_entropy(flat, batch["labels"].reshape(-1))

    return plain_case(model, loss_of=loss_of)


FAULT = Fault(
    "the loss falls to 0 at once, and the model repeats what it reads",
    code="NUM014",
    places=("data labels",),
    evident=1,
    families=("llama", "gpt2", "neox"),
)
