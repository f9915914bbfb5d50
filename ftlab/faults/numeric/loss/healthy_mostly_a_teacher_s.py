"""A student whose loss is for the most part its teacher's, and whose scores are small.

The weights of the two losses are 0.1 and 0.9, as if labels were smoothed by 0.9, but
the second is the teacher's distribution. The head's scores are multiplied with 1 / 16,
which bounds nothing: the vectors grow. The expected error is a product of
probabilities, the divergence is of a mixture's logarithm, and padding has a class
weight of 0.
"""

import torch
from torch import nn
from torch.nn import functional

from ftlab.faults.builders import VOCABULARY, Batch, Case, Healthy, plain_case, set_seed

TAUGHT, MULTIPLIER, MIXED = 0.9, 1 / 16, 0.1


def build() -> Case:
    """Train on the pairs of tokens, with a table for a teacher."""
    set_seed(0)
    model = nn.Sequential(
        nn.Embedding(VOCABULARY, 32), nn.Linear(32, VOCABULARY, bias=False)
    )
    teacher = torch.randn(VOCABULARY, VOCABULARY).softmax(-1)
    weight = torch.ones(VOCABULARY)
    weight[0] = 0.0

    def loss_of(batch: Batch) -> torch.Tensor:
        read, labels = batch["input_ids"][:, :-1], batch["labels"][:, 1:].flatten()
        logs = (model(read).flatten(0, 1) * MULTIPLIER).log_softmax(-1)
        wanted, likely = teacher[read.flatten()], logs.exp()
        taught = -(logs * wanted).sum(-1).mean()
        learnt = functional.nll_loss(logs, labels, weight=weight)
        error = (wanted * (1 - likely)).sum(-1).mean()
        mixture = ((1 - MIXED) * likely + MIXED / VOCABULARY).log()
        apart = functional.kl_div(mixture, wanted, reduction="batchmean")
        return (1 - TAUGHT) * learnt + TAUGHT * taught + 0.1 * (error + apart)

    return plain_case(model, loss_of=loss_of)


HEALTHY = Healthy(
    "a loss smoothed by 0.9 as it seems, small scores, products of probabilities",
    looks_like=("NUM018", "NUM015", "NUM020"),
)
