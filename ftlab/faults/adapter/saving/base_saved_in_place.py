"""The base model within a PeftModel is saved, with the adapter on it.

The folder looks like any model's. The adapted layers are in it as ``base_layer`` and
``lora_A``; ``from_pretrained`` finds neither and draws these layers at random.

Fix: ``model.save_pretrained(folder)``, or merge first.
Source: instructlab/training#141, huggingface/peft#1689.
"""

from ftlab.faults.builders import Case, Fault, folder, lora, plain_case


def build(fixed: bool) -> Case:
    """Build a run that saves its model when it is over."""
    model = lora()
    path = folder(model)

    def save() -> None:
        (model if fixed else model.get_base_model()).save_pretrained(path)

    return plain_case(model, lr=1e-2, afterwards=save)


FAULT = Fault(
    "the saved model answers with nonsense",
    code="ADP020",
    places=("call save_pretrained", "file adapter keys"),
    steps=4,
    evident=3,
    families=("llama", "gpt2", "neox"),
)
