"""A sweep that keeps ``lora_A`` and ``lora_B`` freezes DoRA's magnitudes.

Fix: leave ``requires_grad`` alone, or keep every name with ``lora_``.
Source: sweeps written for LoRA, used with ``use_dora=True``.
"""

from ftlab.faults.builders import Case, Fault, lora, plain_case


def build(fixed: bool) -> Case:
    """Build a model with DoRA, and sweep over it."""
    model = lora(use_dora=True)
    if not fixed:
        for name, parameter in model.named_parameters():
            parameter.requires_grad_("lora_A" in name or "lora_B" in name)
    return plain_case(model)


FAULT = Fault(
    "DoRA learns directions, and its magnitudes stay those of the base",
    code="ADP010",
    places=("param *.lora_magnitude_vector.*",),
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
