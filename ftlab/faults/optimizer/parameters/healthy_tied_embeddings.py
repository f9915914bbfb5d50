"""Full fine-tuning with tied embeddings.

The head's weight *is* the embedding's: one parameter with two names, once in the
optimizer.
"""

from ftlab.faults.builders import Case, Healthy, llama, plain_case


def build() -> Case:
    """Build a Llama with tied embeddings."""
    model = llama(tie_word_embeddings=True)
    return plain_case(model, weight_decay=0.01)


HEALTHY = Healthy(
    "lm_head.weight is in no group by that name",
    looks_like=("OPT001", "OPT002", "GRD003"),
)
