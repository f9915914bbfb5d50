"""The optimizer is built before get_peft_model.

It holds the base weights, which get_peft_model then freezes. The LoRA parameters are in
no group: they receive gradients and never change.

Fix: build the optimizer last.
Source: the end state of TrainCheck PT-FORUM-84911 and huggingface/peft#1303.
"""

import torch

from ftlab.faults.builders import Case, Fault, adamw, llama, loop_case, lora


def build(fixed: bool) -> Case:
    """Build base, optimizer and adapter in the wrong order."""
    base = llama()
    early = torch.optim.AdamW(base.parameters(), lr=1e-2)
    model = lora(base)
    optimizer = adamw(model, lr=1e-2) if fixed else early
    return loop_case(model, optimizer)


FAULT = Fault(
    "the loss is flat from step 0; gradients and learning rate look normal",
    code="OPT002",
    places=("param *.lora_A.*", "param *.lora_B.*"),
)
