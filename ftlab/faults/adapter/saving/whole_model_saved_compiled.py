"""Blocks of a fully fine-tuned model are compiled one by one, and it is saved.

save_pretrained writes ``model.layers.0._orig_mod...``; from_pretrained finds none of
these keys and initialises every block anew, with one warning among others.

Fix: compile in place with ``layer.compile()``, or wrap the whole model.
Source: pytorch/pytorch#101107, huggingface/pytorch-image-models#2003.
"""

from ftlab.faults.adapter.saving.compiled_layer_checkpoint_dead import compile_blocks
from ftlab.faults.builders import Case, Fault, base, plain_case


def build(fixed: bool) -> Case:
    """Build a full fine-tune of compiled blocks."""
    model = base()
    compile_blocks(model, in_place=fixed)
    return plain_case(model)


FAULT = Fault(
    "the saved model has random blocks when it is loaded",
    code="ADP021",
    places=("file model.safetensors", "module *_orig_mod*"),
    steps=4,
    evident=-1,
    families=("llama", "gpt2", "neox"),
)
