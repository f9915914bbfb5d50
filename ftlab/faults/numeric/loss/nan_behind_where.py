"""An exponential overflows in places that ``where`` leaves out.

The ratio of a policy and the one before is taken everywhere and kept for the answer
only. In the prompt it overflows. The loss is finite; backward multiplies the derivative
of what was left out, which is infinite, by 0: all gradients are NaN.

Fix: replace what the exponential is taken of before it, not its result after it.
Source: pytorch/pytorch#68425 (the branch of ``where`` not taken).
"""

import torch

from ftlab.faults.builders import Batch, Case, Fault, lora, plain_case

PROMPT = 3


def build(fixed: bool) -> Case:
    """Take the ratio of everything, or of what counts."""
    model = lora()

    def loss_of(batch: Batch) -> torch.Tensor:
        logits = model(input_ids=batch["input_ids"]).logits[:, :-1]
        labels = batch["labels"][:, 1:]
        logs = logits.log_softmax(-1).gather(-1, labels[..., None]).squeeze(-1)
        before = logs.detach() - 0.1
        before[:, :PROMPT] -= 200
        answer = torch.arange(logs.shape[1]) >= PROMPT
        distance = logs - before
        if fixed:
            distance = torch.where(answer, distance, 0.0)
        ratio = torch.where(answer, distance.exp(), 0.0)
        return -ratio.sum() / (answer.sum() * len(ratio))

    return plain_case(model, loss_of=loss_of)


FAULT = Fault(
    "the loss is finite, the gradients are NaN, and then everything is",
    code="NUM001",
    places=("op exp",),
    steps=4,
    evident=1,
    families=("llama", "gpt2", "neox", "own"),
)
