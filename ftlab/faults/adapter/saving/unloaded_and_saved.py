"""The adapter is taken off with ``unload()``, and the model is saved.

``unload`` gives back the base model as it was; ``merge_and_unload`` is what adds the
adapter to it. What is saved has learnt nothing, and the adapter is gone.

Fix: ``model.merge_and_unload().save_pretrained(folder)``.
Source: seed; huggingface/peft#309 (which files belong to what).
"""

from ftlab.faults.builders import Case, Fault, folder, lora, plain_case


def build(fixed: bool) -> Case:
    """Build a run that exports its model when it is over."""
    model = lora()
    path = folder(model)

    def save() -> None:
        bare = model.merge_and_unload() if fixed else model.unload()
        bare.save_pretrained(path)

    return plain_case(model, lr=1e-2, afterwards=save)


FAULT = Fault(
    "the exported model answers like the base model",
    code="ADP020",
    places=("call unload", "call save_pretrained"),
    steps=4,
    evident=3,
    families=("llama", "gpt2", "neox"),
)
