"""The output embeddings are in 4 bits: every logit carries their rounding.

``llm_int8_skip_modules=["gate"]`` was meant to leave one more layer out. What is given
there replaces the list that transformers makes by itself, in which the head stands.

Fix: name the head as well: ``llm_int8_skip_modules=["gate", "lm_head"]``.
Source: huggingface/transformers#24037; unslothai/unsloth#5034 (skip lists).
"""

from ftlab.faults.builders import Case, Fault, base, lora, plain_case
from ftlab.faults.builders.blocks import four_bit
from ftlab.faults.builders.heads import head


def build(fixed: bool) -> Case:
    """Load a model in 4 bits with a list of layers to skip."""
    model = base()
    name = head(model)
    skipped = ["gate", name] if fixed else ["gate"]
    model = lora(four_bit(model, llm_int8_skip_modules=skipped))
    return plain_case(model)


FAULT = Fault(
    "the output embeddings are quantised with the blocks",
    code="MOD007",
    places=("module *lm_head", "module *embed_out"),
    evident=-1,
    families=("llama", "neox"),
    needs=("bitsandbytes>=0.46",),
)
