"""A is drawn as one row, which is then broadcast over all of its rows.

An initialisation of one's own, or one that enlarges r, assigns a vector to a matrix.
Nothing complains: all rows of A are the same, all columns of B get the same gradient,
and the adapter has rank 1 for ever.

Fix: ``torch.nn.init.kaiming_uniform_(lora_A, a=math.sqrt(5))``.
Source: seed; Hu et al. 2021, section 4.1; ostris/ai-toolkit#724 (ranks that never get
to be used).
"""

import torch

from ftlab.faults.builders import Case, Fault, lora, plain_case

DEVIATION = 0.1


def build(fixed: bool) -> Case:
    """Build a LoRA whose A are drawn in whole, or as one row."""
    model = lora()
    for name, parameter in model.named_parameters():
        if "lora_A" in name:
            drawn = torch.randn_like(parameter if fixed else parameter[0])
            parameter.data[:] = DEVIATION * drawn
    return plain_case(model)


FAULT = Fault(
    "a larger r makes no difference, and the adapter learns less than others",
    code="ADP051",
    places=("param *lora_A.*",),
    evident=3,
    families=("llama", "gpt2", "neox", "own"),
)
