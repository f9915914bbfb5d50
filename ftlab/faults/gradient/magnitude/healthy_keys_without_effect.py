"""A RoBERTa with biases on its keys, fully fine-tuned.

A constant added to all keys shifts all scores of a query alike, and softmax leaves it
out: the gradient of such a bias is rounding noise, ten thousand times below its
namesakes'.
"""

from ftlab.faults.builders import Case, Healthy, batches, classes, plain_case, roberta


def build() -> Case:
    """Build a RoBERTa that classifies, with its whole encoder trained."""
    model = roberta()
    return plain_case(model, lr=5e-4, weight_decay=0.01, rows=classes(batches()))


HEALTHY = Healthy(
    "the gradients of the keys' biases are rounding noise",
    looks_like=("GRD001", "NUM002"),
)
