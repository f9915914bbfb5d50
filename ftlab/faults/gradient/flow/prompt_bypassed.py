"""The loop calls the base model, and the prompt that is to be learned is never put in.

``PeftModel.forward`` is what puts the virtual tokens before the text. LoRA stands in
the layers and would be trained all the same; prompt tuning and prefix tuning vanish.

Fix: call ``model(**batch)``, not ``model.get_base_model()(**batch)``.
Source: seen in hand-written loops that unwrap the model for something else before.
"""

from ftlab.faults.builders import Case, Fault, base, current, plain_case


def build(fixed: bool) -> Case:
    """Build prompt tuning whose head is trained as well, so that backward runs."""
    from peft import PromptTuningConfig, get_peft_model

    bare = base()
    config = PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=4)
    model = get_peft_model(bare, config, adapter_name=current().adapter)
    bare.get_output_embeddings().requires_grad_(True)
    called = model if fixed else model.get_base_model()
    return plain_case(model, loss_of=lambda batch: called(**batch).loss)


FAULT = Fault(
    "prompt tuning changes nothing: the saved prompt is as it was drawn",
    code="GRD003",
    places=("module model",),
    steps=10,
    evident=1,
    families=("llama", "gpt2", "neox"),
)
