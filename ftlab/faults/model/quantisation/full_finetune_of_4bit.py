"""Full fine-tuning of a model in 4 bits: the loss moves a little, the blocks do not.

Quantised weights do not require gradients. Embedding, norms and head are all that an
optimizer over ``requires_grad`` parameters gets.

Fix: put LoRA on the quantised layers (QLoRA), or load the model in bf16.
Source: huggingface/transformers#30526; the Trainer refuses, loops of one's own do not.
"""

from ftlab.faults.builders import Case, Fault, llama, lora, plain_case
from ftlab.faults.builders.blocks import four_bit


def build(fixed: bool) -> Case:
    """Build a quantised model without, or with, an adapter."""
    model = four_bit(llama(hidden_size=128))
    if fixed:
        model = lora(model, target_modules="all-linear")
    return plain_case(model.train())


FAULT = Fault(
    "the loss moves a little, the transformer never changes",
    code="MOD002",
    places=("module *_proj", "param *_proj.weight"),
    evident=-1,
    needs=("bitsandbytes>=0.46",),
)
