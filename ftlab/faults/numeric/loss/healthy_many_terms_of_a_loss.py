"""A student with several terms in its loss: smoothed, focal, a teacher's, a mixture's.

The teacher's and the student's logits are divided by a temperature of 2; the likelihood
of a mixture is taken of a logarithm, not of a log-softmax; the focal term weighs tokens
that are known already by next to nothing.
"""

import torch
from torch import nn
from torch.nn import functional

from ftlab.faults.builders import VOCABULARY, Batch, Case, Healthy, plain_case, set_seed

TEMPERATURE, SMOOTHING, FOCUS = 2.0, 0.1, 2.0


def build() -> Case:
    """Train on the pairs of tokens, with a teacher of other weights."""
    set_seed(0)
    model, teacher = (
        nn.Sequential(nn.Embedding(VOCABULARY, 32), nn.Linear(32, VOCABULARY))
        for _ in range(2)
    )

    def loss_of(batch: Batch) -> torch.Tensor:
        read, labels = batch["input_ids"][:, :-1], batch["labels"][:, 1:].flatten()
        logits = model(read).flatten(0, 1)
        with torch.no_grad():
            wanted = teacher(read).flatten(0, 1)
        smoothed = functional.cross_entropy(logits, labels, label_smoothing=SMOOTHING)
        taught = functional.kl_div(
            (logits / TEMPERATURE).log_softmax(-1),
            (wanted / TEMPERATURE).softmax(-1),
            reduction="batchmean",
        )
        each = functional.cross_entropy(logits, labels, reduction="none")
        focal = ((1 - (-each).exp()) ** FOCUS * each).mean()
        mixture = 0.9 * logits.softmax(-1) + 0.1 / logits.shape[-1]
        mixed = functional.nll_loss(mixture.log(), labels)
        return smoothed + TEMPERATURE**2 * taught + focal + mixed

    return plain_case(model, loss_of=loss_of)


HEALTHY = Healthy(
    "a constant on the logits, a likelihood without log-softmax, a high loss",
    looks_like=("NUM013", "NUM015"),
)
