"""A sweep that keeps ``.lora_A.`` and ``.lora_B.`` freezes the pair of the embedding.

PEFT calls the factors on an embedding lora_embedding_A and lora_embedding_B. The other
pairs learn, and what was asked for on the embedding stays 0.

Fix: leave ``requires_grad`` alone, or keep every name with ``lora_``.
Source: unslothai/unsloth#9326.
"""

from torch import nn

from ftlab.faults.builders import Case, Fault, attention, base, lora, plain_case


def build(fixed: bool) -> Case:
    """Build LoRA on the attention and on the embedding, and sweep over it."""
    bare = base()
    words = next(n for n, m in bare.named_modules() if isinstance(m, nn.Embedding))
    model = lora(bare, target_modules=[*attention(bare), words.rpartition(".")[2]])
    if not fixed:
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(".lora_A." in name or ".lora_B." in name)
    return plain_case(model)


FAULT = Fault(
    "the adapter on the embedding was asked for and never moves",
    code="ADP010",
    places=("param *.lora_embedding_?.*",),
    evident=-1,
    families=("llama", "neox", "own"),
)
