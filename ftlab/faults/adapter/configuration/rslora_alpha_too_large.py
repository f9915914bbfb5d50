"""``use_rslora=True`` with the alpha of a recipe without it.

The scaling is alpha / sqrt(r) then: for r = 64 and alpha = 128 it is 16 and not 2.

Fix: ``lora_alpha = 2 * sqrt(r)``, or a learning rate that is sqrt(r) times smaller.
Source: arXiv:2312.03732; unslothai/notebooks#144, vllm-project/vllm#6909.
"""

from ftlab.faults.builders import Case, Fault, lora, plain_case


def build(fixed: bool) -> Case:
    """Build a LoRA model of rank 64 with rsLoRA."""
    alpha = 16 if fixed else 128
    model = lora(r=64, lora_alpha=alpha, use_rslora=True, target_modules="all-linear")
    return plain_case(model, lr=1e-2)


FAULT = Fault(
    "the loss jumps in the first steps and settles above its start",
    code="ADP018",
    places=("config lora_alpha",),
    steps=24,
    evident=0,
    also=("GRD002",),
    families=("llama", "gpt2", "neox", "own"),
)
