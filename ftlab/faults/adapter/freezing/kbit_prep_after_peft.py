"""The model is prepared for k-bit training after get_peft_model.

prepare_model_for_kbit_training freezes every parameter, those of the adapter too. Its
hook makes the embeddings' output require a gradient, so backward does not complain.

Fix: prepare_model_for_kbit_training(base) first, get_peft_model second.
Source: huggingface/trl#3926, huggingface/transformers#26098, huggingface/peft#102.
"""

import torch

from ftlab.faults.builders import Case, Fault, base, loop_case, lora


def build(fixed: bool) -> Case:
    """Build a model that is prepared before or after it gets an adapter."""
    from peft import prepare_model_for_kbit_training

    model = base()
    model = prepare_model_for_kbit_training(model) if fixed else model
    model = lora(model)
    model = model if fixed else prepare_model_for_kbit_training(model)
    model.enable_input_require_grads()
    # A Trainer builds an optimizer of empty groups; all parameters do as well.
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    return loop_case(model, optimizer)


FAULT = Fault(
    "the loss is constant and no error is raised: trainable params: 0",
    code="ADP010",
    places=("param *.lora_*",),
    evident=-1,
    families=("llama", "gpt2", "neox"),
)
