"""An adapter of rank 2 is brought to rank 8 by repeating its rows.

To go on with a larger r, A and B are tiled until they fit. Copies of a rank get the
same gradients for ever: the adapter takes the memory of 8 ranks and stays at rank 2.

Fix: ``torch.nn.init.kaiming_uniform_`` for the new rows of A, 0 for those of B.
Source: seed; ostris/ai-toolkit#724 (ranks added by an expansion that stay unused).
"""

from ftlab.faults.builders import Case, Fault, lora, plain_case

SMALL = 2


def build(fixed: bool) -> Case:
    """Build a LoRA whose A has rows of its own, or two rows again and again."""
    rank = 4 * SMALL
    model = lora(r=rank, lora_alpha=2 * rank)
    for name, parameter in model.named_parameters():
        if "lora_A" in name and not fixed:
            rows = parameter.data[:SMALL]
            parameter.data.copy_(rows.repeat(rank // SMALL, 1))
    return plain_case(model)


FAULT = Fault(
    "a larger r makes no difference to the loss",
    code="ADP051",
    places=("param *lora_A.*",),
    steps=16,
    evident=9,
    families=("llama", "gpt2", "neox", "own"),
)
