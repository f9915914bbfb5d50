"""The adapter is saved with a state dict that was taken before training.

``save_pretrained(folder, state_dict=...)`` writes what it is given: here a copy made
when the model was built, with B = 0 everywhere. The file is as large as it should be.

Fix: leave ``state_dict`` out, or take it right before saving.
Source: tloen/alpaca-lora#319, tloen/alpaca-lora#446 (a patched state_dict).
"""

from ftlab.faults.builders import Case, Fault, folder, lora, plain_case


def build(fixed: bool) -> Case:
    """Build a run that saves its adapter when it is over."""
    model = lora()
    path = folder(model)
    early = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    settings = {} if fixed else {"state_dict": early}
    return plain_case(
        model, lr=1e-2, afterwards=lambda: model.save_pretrained(path, **settings)
    )


FAULT = Fault(
    "the saved adapter answers like the base model",
    code="ADP028",
    places=("file adapter keys",),
    evident=5,
    families=("llama", "gpt2", "neox", "own"),
)
