"""An initialisation of one's own is run over all trainable parameters, after PEFT.

"Initialise what is new": the loop was written for a new head, and draws the adapter's
tensors as well. What began at 0 so that the adapter was nothing is random now.

Fix: run it before get_peft_model, or over the head alone.
Source: the class of hao-ai-lab/FastVideo#781 (factors drawn after they were made).
"""

import math

import torch

from ftlab.faults.builders import Case, Fault, plain_case, trainable
from ftlab.faults.builders.methods import tuned


def build(fixed: bool) -> Case:
    """Build LoKr, and draw its factors once more."""
    model = tuned("LoKrConfig", r=4, alpha=8)
    if not fixed:
        for parameter in trainable(model):
            torch.nn.init.kaiming_uniform_(parameter, a=math.sqrt(5))
    return plain_case(model)


FAULT = Fault(
    "a fresh LoKr adapter gives other answers than the base model",
    code="ADP032",
    places=("param *.lokr_w1*",),
    evident=0,
    families=("llama", "neox", "own"),
)
