"""``llm_int8_skip_modules`` names what is around all blocks: nothing is in 4 bits.

The entry was meant for one head or tower. transformers takes it for every layer below
a module of that name; the model loads, and nobody says that none is quantised.

Fix: name the layers themselves, ``llm_int8_skip_modules=["lm_head"]``.
Source: ``should_convert_module`` of huggingface/transformers.
"""

from ftlab.faults.builders import Case, Fault, base, lora, plain_case
from ftlab.faults.builders.blocks import block_name, four_bit
from ftlab.faults.builders.heads import head


def build(fixed: bool) -> Case:
    """Build LoRA on a model that was asked for in 4 bits."""
    model = base()
    whole = block_name(model, 0).partition(".")[0]
    skipped = [head(model)] if fixed else [head(model), whole]
    model = lora(four_bit(model, llm_int8_skip_modules=skipped))
    return plain_case(model.train())


FAULT = Fault(
    "a model in 4 bits takes as much memory as in 16",
    code="MOD003",
    places=("param *", "config load_in_4bit", "config llm_int8_skip_modules"),
    steps=4,
    evident=-1,
    families=("llama", "neox"),
    needs=("bitsandbytes>=0.46",),
)
