"""``merge_and_unload()`` is called, its result is dropped, and the PeftModel is saved.

The method returns the merged model. The PeftModel that is left has no adapter, and
saves itself as one: ``adapter_model.safetensors`` without a key, and nothing merged.

Fix: ``merged = model.merge_and_unload()``, then ``merged.save_pretrained(folder)``.
Source: huggingface/peft#2032 (an empty adapter is saved), #2871 (the guide did it too).
"""

from ftlab.faults.builders import Case, Fault, folder, lora, plain_case


def build(fixed: bool) -> Case:
    """Build a run that merges and saves when it is over."""
    model = lora()
    path = folder(model)

    def save() -> None:
        merged = model.merge_and_unload()
        (merged if fixed else model).save_pretrained(path)

    return plain_case(model, lr=1e-2, afterwards=save)


FAULT = Fault(
    "the saved model answers like the base model",
    code="ADP028",
    places=("call merge_and_unload",),
    steps=4,
    evident=3,
    families=("llama", "gpt2", "neox"),
)
