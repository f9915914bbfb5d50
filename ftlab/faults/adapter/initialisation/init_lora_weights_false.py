"""``init_lora_weights=False``, read as "no special initialisation".

It draws B at random as well: the model is disturbed before the first step.

Fix: leave ``init_lora_weights`` at True.
Source: huggingface/peft#2212, hao-ai-lab/FastVideo#781, mflux-community/mflux#739.
"""

from ftlab.faults.builders import Case, Fault, lora, plain_case


def build(fixed: bool) -> Case:
    """Build a LoRA model whose B is 0, or random."""
    model = lora(init_lora_weights=fixed)
    return plain_case(model)


FAULT = Fault(
    "the loss of a pretrained model starts too high with a fresh adapter",
    code="ADP032",
    places=("config init_lora_weights",),
    evident=0,
    families=("llama", "gpt2", "neox", "own"),
)
