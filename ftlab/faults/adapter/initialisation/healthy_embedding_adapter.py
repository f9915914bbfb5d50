"""LoRA on the embedding, with DoRA on the projections.

On an embedding PEFT starts with A at 0 and B random, the other way round. Rows of
tokens that do not occur have gradients of exactly 0.
"""

from ftlab.faults.builders import Case, Healthy, lora, plain_case


def build() -> Case:
    """Build LoRA on the embedding and the attention projections."""
    model = lora(target_modules=["embed_tokens", "q_proj", "v_proj"])
    return plain_case(model)


HEALTHY = Healthy(
    "lora_embedding_A is 0 and lora_embedding_B has a gradient of 0 at the start",
    looks_like=("ADP001", "GRD003"),
)
