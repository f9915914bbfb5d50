"""The loop calls the base model, and the prompt that is to be learned is never put in.

``PeftModel.forward`` is what puts the virtual tokens before the text. LoRA stands in
the layers and would be trained all the same; prompt tuning and prefix tuning vanish.

Fix: call ``model(**batch)``, not ``model.get_base_model()(**batch)``.
Source: seen in hand-written loops that unwrap the model for something else before.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, adamw, base, current, loop_case


def build(fixed: bool) -> Case:
    """Build prompt tuning whose head is trained as well, so that backward runs."""
    from peft import PromptTuningConfig, get_peft_model

    bare = base()
    config = PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=4)
    model = get_peft_model(bare, config, adapter_name=current().adapter)
    bare.get_output_embeddings().requires_grad_(True)
    optimizer = adamw(model)
    called = model if fixed else model.get_base_model()

    def loss_of(batch: Any) -> torch.Tensor:
        return called(**batch).loss

    return loop_case(model, optimizer, loss_of=loss_of)


FAULT = Fault(
    "prompt tuning changes nothing: the saved prompt is as it was drawn",
    code="GRD003",
    places=("module model",),
    steps=10,
    evident=1,
    families=("llama", "gpt2", "neox"),
)
