"""The merged model is saved into the folder that holds its adapter's checkpoint.

from_pretrained finds the ``adapter_config.json`` that lies there and puts that adapter
on the merged weights: it counts twice, and as it was at the checkpoint.

Fix: save the merged model into a folder of its own.
Source: huggingface/peft#1381.
"""

from ftlab.faults.builders import Case, Fault, current, folder, lora, plain_case


def build(fixed: bool) -> Case:
    """Build a run that saves its adapter, merges it and saves again."""
    model = lora()
    path, name = folder(model), current().adapter

    def save() -> None:
        model.save_pretrained(path)
        beside = path if name == "default" else f"{path}/{name}"  # where PEFT puts it
        merged = model.merge_and_unload()
        merged.save_pretrained(f"{path}/merged" if fixed else beside)

    return plain_case(model, lr=1e-2, afterwards=save)


FAULT = Fault(
    "the merged model answers otherwise when it is loaded",
    code="ADP021",
    places=("call save_pretrained",),
    steps=4,
    evident=3,
    families=("llama", "gpt2", "neox"),
)
