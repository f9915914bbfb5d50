"""A freezing loop after get_peft_model matches lora_A only.

lora_B keeps ``requires_grad=False`` at its initial 0, so B A is 0 for ever: the tuned
model answers exactly like the base model.

Fix: leave ``requires_grad`` alone after get_peft_model, or match ``lora_``.
Source: the end state of huggingface/peft#793.
"""

from ftlab.faults.builders import Case, Fault, lora, plain_case


def build(fixed: bool) -> Case:
    """Build a LoRA model and freeze with the wrong match."""
    model = lora()
    match = "lora_" if fixed else "lora_A"
    for name, parameter in model.named_parameters():
        parameter.requires_grad = match in name
    return plain_case(model, lr=1e-2)


FAULT = Fault(
    "the tuned model answers exactly like the base model",
    code="ADP001",
    places=("param *.lora_B.*",),
    steps=10,
    evident=0,
    families=("llama", "gpt2", "neox", "own"),
)
