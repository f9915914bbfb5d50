"""An activated LoRA without ``task_type``: nobody tells it where its tokens are.

The class that PEFT takes for a model without a task hands the inputs on as they are.
Only the one for causal language models looks for the invocation.

Fix: ``task_type="CAUSAL_LM"``.
Source: huggingface/peft#2609; ``PeftModelForCausalLM.forward``.
"""

from ftlab.faults.builders import Case, Fault, base, batches, lora, plain_case

INVOCATION = [11, 12]


def build(fixed: bool) -> Case:
    """Build an activated LoRA, with its task or without."""
    task = "CAUSAL_LM" if fixed else None
    model = lora(base(), alora_invocation_tokens=INVOCATION, task_type=task)
    made = batches()
    for batch in made:
        for column, token in enumerate(INVOCATION, start=3):
            batch["input_ids"][:, column] = token
    return plain_case(model, rows=made)


FAULT = Fault(
    "an activated LoRA learns nothing",
    code="ADP041",
    places=("config alora_invocation_tokens",),
    steps=16,
    evident=-1,
    also=("ADP001", "GRD003", "NUM003"),
    families=("llama", "neox"),
    needs=("peft>=0.18",),
)
